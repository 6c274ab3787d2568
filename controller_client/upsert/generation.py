"""Generations of the key coordinator's state, kept in ZooKeeper.

::

    /<cluster>/PINOT_PLUGINS/upsert/<table with type>/
        generation        Generation: written by the coordinator, which holds the table's lock
        rebuild           RebuildRequest: written by ``pinotctl upsert rebuild``

Both records have their format version in ``simpleFields.format``.

A generation reads the input from the beginning into a state of its own. A request for one contains its
number, so that a coordinator does not start the same generation twice. A generation belongs to one engine and
to one incarnation of the table: it knows nothing of the rows of another incarnation.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace

from controller_client.common.formats import Format, log_skipped, with_unknown
from controller_client.common.names import TableName
from controller_client.errors import DataError, FormatVersionError
from controller_client.helix import read_record_at
from controller_client.stream.offsets import OffsetRange
from controller_client.upsert.record import coordinator_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = [
    "GENERATION_FORMAT",
    "REBUILD_FORMAT",
    "Generation",
    "Incarnation",
    "RebuildRequest",
    "beside",
    "following",
    "is_folder_of",
    "is_generation_folder",
    "new_folder",
    "next_request",
    "read_generation",
    "read_request",
    "request_rebuild",
    "why_new",
    "write_generation",
]


logger = logging.getLogger(__name__)

GENERATION_FORMAT = Format("the generation of a key coordinator's state")
REBUILD_FORMAT = Format("the request for a rebuild")

_FOLDER = re.compile(r"generation-[0-9a-f]{1,32}")
_CLUSTER_DIGITS = 12
_NUMBERS = ("number", "base", "engine", "partitions", "buckets", "folder", "since")
_RESENT_FROM = "resent_from"


@dataclass(frozen=True)
class Incarnation:
    """The identity of a table for its coordinator; it changes with a new table of that name or a new topic.

    Attributes:
        table: When the table was created: the creation order of its config in ZooKeeper.
        topic: Kafka's id of the input topic; empty if Kafka has none.
        rules: Fingerprint of what determines keys and their order, see ``TablePlan``.
    """

    table: int
    topic: str
    rules: str


@dataclass(frozen=True)
class Generation:
    """The properties of a generation, which survive restarts.

    Attributes:
        number: Starts at 1.
        base: The version of its first batch; greater than all previous versions.
        engine: The engine that it belongs to.
        partitions: Parts of the state; each is a Spark task.
        buckets: Buckets of keys.
        folder: Folder of its state, below the coordinator's folder.
        incarnation: The table's; None if written by a release that did not record it.
        since: The first version of this incarnation; earlier versions belong to another table.
        floors: Engine spark: see :func:`.rules.live`; for batches from the next start on. They change only
            while no batch is running, because a repeated batch must give the same result.
        until: By input partition, the next offset when the generation began. Version ends are held back until
            all of these are passed: before that, the state sent is older than what queries see.
        resent_from: The first version with its events: from there on, the updates topic has the events of all
            rows from ``begins`` on; None if written by a release that did not record it.
        begins: By input partition, the first offset that it has read.
    """

    number: int
    base: int
    engine: str
    partitions: int
    buckets: int
    folder: str
    incarnation: Incarnation | None = None
    since: int = 0
    floors: tuple[int, ...] = ()
    until: Mapping[int, int] = field(default_factory=dict)
    resent_from: int | None = None
    begins: Mapping[int, int] = field(default_factory=dict)

    def has_sent(self, newest: int, batch: int | None) -> bool:
        """Whether the newest sent version can belong to this generation or an earlier one.

        Args:
            newest: That version; ``NIL`` for none.
            batch: The newest batch in the checkpoint; None if there is none.
        """
        return newest < self.base or (batch is not None and newest <= self.base + batch)

    def holds_back(self, ends: Mapping[int, int]) -> bool:
        """Whether the end of a version whose batch ends at these offsets must not be sent yet."""
        return any(ends.get(partition, 0) < offset for partition, offset in self.until.items())


@dataclass(frozen=True)
class RebuildRequest:
    """A request for a new generation.

    Attributes:
        number: Its number.
        partitions: Parts of the state, as in :class:`Generation`; None: unchanged.
        buckets: Number of buckets of keys; None: unchanged.
    """

    number: int
    partitions: int | None = None
    buckets: int | None = None


def new_folder(cluster: str) -> str:
    """Return a name for the folder of a new generation's state.

    Args:
        cluster: The cluster's id. Two clusters may keep their states in one folder, for tables of one name.
    """
    return f"generation-{cluster[:_CLUSTER_DIGITS]}{uuid.uuid4().hex[:12]}"


def is_generation_folder(name: str) -> bool:
    """Whether a name is that of a generation's folder: only such a folder is opened or deleted."""
    return _FOLDER.fullmatch(name) is not None


def is_folder_of(name: str, cluster: str) -> bool:
    """Whether a name is that of the folder of a generation of a cluster; False for those of release 0.1."""
    begin = f"generation-{cluster[:_CLUSTER_DIGITS]}"
    return is_generation_folder(name) and name.startswith(begin) and len(name) > len(begin)


def following(
    now: Generation | None,
    request: RebuildRequest | None,
    newest: int,
    offsets: Mapping[int, OffsetRange],
    *,
    engine: str,
    incarnation: Incarnation,
    folder: str,
    partitions: int = 0,
    buckets: int = 0,
) -> Generation:
    """Return the generation that follows the current one.

    Args:
        now: The current generation, if any.
        request: The newest request; one that has been met is ignored.
        newest: The newest version sent by any generation; ``NIL`` for none.
        offsets: The offsets of the input, by partition.
        engine: The engine of the new generation.
        incarnation: The table's.
        folder: The folder of its state.
        partitions: For the engine's first generation, unless the request says otherwise.
        buckets: Also for the first generation.
    """
    number = now.number + 1 if now else 1
    if request is not None and request.number < number:
        request = None
    same = now if now and now.engine == engine else None
    goes_on = now is not None and (now.incarnation is None or now.incarnation.table == incarnation.table)
    return Generation(
        number=request.number if request else number,
        base=newest + 1,
        engine=engine,
        partitions=(request and request.partitions) or (same.partitions if same else partitions),
        buckets=(request and request.buckets) or (same.buckets if same else buckets),
        folder=folder,
        incarnation=incarnation,
        since=now.since if now and goes_on else newest + 1,
        # Before the first version, queries see nothing that would have to stay visible.
        until={each: found.latest for each, found in offsets.items()} if goes_on and newest >= 0 else {},
        resent_from=newest + 1,
        begins=_begins(offsets),
    )


def beside(
    now: Generation, number: int, newest: int, offsets: Mapping[int, OffsetRange], folder: str
) -> Generation:
    """Return a generation that is built while the current one sends versions; its base is set in the end.

    Args:
        now: The current generation.
        number: The requested number.
        newest: The newest version that was sent.
        offsets: The offsets of the input, by partition.
        folder: The folder of its state.
    """
    return replace(
        now, number=number, folder=folder, until={}, resent_from=newest + 1, begins=_begins(offsets)
    )


def _begins(offsets: Mapping[int, OffsetRange]) -> dict[int, int]:
    return {partition: found.earliest for partition, found in offsets.items()}


def why_new(
    now: Generation | None, engine: str, request: RebuildRequest | None, present: Incarnation
) -> str | None:
    """Return why a new generation has to begin, as text; None if the current one can continue.

    Args:
        now: The current generation, if any.
        engine: The running engine.
        request: The newest request, if any.
        present: The current incarnation of the table.
    """
    if now is None:
        return "it is the first generation"
    if request is not None and request.number > now.number:
        return "a rebuild was requested"
    if now.engine != engine:
        return f"the current generation belongs to the engine {now.engine}"
    if now.incarnation != present:
        return "the table was recreated"
    return None


def read_generation(store: PropertyStore, table: TableName) -> Generation | None:
    """Return the generation of a table (name with type); None before the first.

    Raises:
        DataError: Its folder does not have the name of a generation's folder.
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    path = _path(store, table, "generation")
    record = read_record_at(store, path)
    if record is None:
        return None
    simple = record.simple_fields
    with GENERATION_FORMAT.reading(simple, path):
        if not is_generation_folder(simple["folder"]):
            raise DataError(
                f"the record of the generation of {table} names the folder {simple['folder'][:100]!r}",
                expected="generation- and hexadecimal digits, as coordinators name these folders",
                where=path,
                remedy="find out who wrote the record, and restore it",
            )
        incarnation = record.map_fields.get("incarnation")
        return Generation(
            number=int(simple["number"]),
            base=int(simple["base"]),
            engine=simple.get("engine", "spark"),
            partitions=int(simple["partitions"]),
            buckets=int(simple["buckets"]),
            folder=simple["folder"],
            incarnation=Incarnation(int(incarnation["table"]), incarnation["topic"], incarnation["rules"])
            if incarnation
            else None,
            since=int(simple.get("since", 0)),
            floors=tuple(json.loads(simple.get("floors", "[]"))),
            until=_offsets(record, "until"),
            resent_from=int(simple[_RESENT_FROM]) if _RESENT_FROM in simple else None,
            begins=_offsets(record, "begins"),
        )


def _offsets(record: ZNRecord, name: str) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in record.map_fields.get(name, {}).items()}


def write_generation(store: PropertyStore, table: TableName, generation: Generation) -> None:
    """Write a generation; errors as of :meth:`PropertyStore.connection.set`."""
    of = generation.incarnation
    record = ZNRecord(
        "generation",
        simple_fields=GENERATION_FORMAT.stamp(
            {
                **{name: str(getattr(generation, name)) for name in _NUMBERS},
                "floors": json.dumps(generation.floors),
                **({} if generation.resent_from is None else {_RESENT_FROM: str(generation.resent_from)}),
            }
        ),
        map_fields={
            **{
                name: {str(each): str(offset) for each, offset in offsets.items()}
                for name, offsets in (("until", generation.until), ("begins", generation.begins))
            },
            **({"incarnation": {key: str(value) for key, value in asdict(of).items()}} if of else {}),
        },
    )
    _put(
        store,
        _path(store, table, "generation"),
        record,
        GENERATION_FORMAT,
        own_keys=(*_NUMBERS, "floors", _RESENT_FROM, "until", "begins", "incarnation"),
    )


def read_request(store: PropertyStore, table: TableName) -> RebuildRequest | None:
    """Return the newest request, even if it has been met: compare its number.

    A request from a later release is logged and ignored: a coordinator that can read it will meet it.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    path = _path(store, table, "rebuild")
    record = read_record_at(store, path)
    if record is None:
        return None
    simple = record.simple_fields
    try:
        with REBUILD_FORMAT.reading(simple, path):
            partitions, buckets = (
                int(simple[name]) if name in simple else None for name in ("partitions", "buckets")
            )
            return RebuildRequest(int(simple["number"]), partitions, buckets)
    except FormatVersionError as error:
        log_skipped(logger, error)
        return None


def next_request(
    store: PropertyStore, table: TableName, *, partitions: int | None = None, buckets: int | None = None
) -> RebuildRequest:
    """Return the request that :func:`request_rebuild` would write; writes nothing."""
    now = read_generation(store, table)
    return RebuildRequest(now.number + 1 if now else 1, partitions, buckets)


def request_rebuild(
    store: PropertyStore, table: TableName, *, partitions: int | None = None, buckets: int | None = None
) -> RebuildRequest:
    """Request a new generation; a request that is still pending is replaced with these numbers.

    Raises:
        ConflictError: Someone else wrote a request at the same time.
        FormatVersionError: A later release wrote the existing request.
    """
    request = next_request(store, table, partitions=partitions, buckets=buckets)
    values = {"number": request.number, "partitions": partitions, "buckets": buckets}
    fields = {name: str(value) for name, value in values.items() if value is not None}
    record = ZNRecord("rebuild", simple_fields=REBUILD_FORMAT.stamp(fields))
    _put(store, _path(store, table, "rebuild"), record, REBUILD_FORMAT, own_keys=tuple(values))
    return request


def _path(store: PropertyStore, table: TableName, name: str) -> str:
    return f"{coordinator_path(store, table).rpartition('/')[0]}/{name}"


def _put(store: PropertyStore, path: str, record: ZNRecord, of: Format, *, own_keys: Collection[str]) -> None:
    """Write a record, keeping its current fields that this release does not know."""
    znode = store.connection.get(path)
    if znode is None:
        store.connection.create(path, record.to_bytes())
        return
    present = ZNRecord.from_bytes(znode[0], where=path)
    of.check(present.simple_fields, path)
    own_keys = (of.field, *own_keys)
    whole = ZNRecord(
        record.id,
        with_unknown(record.simple_fields, present.simple_fields, own_keys),
        present.list_fields,
        with_unknown(record.map_fields, present.map_fields, own_keys),
    )
    store.connection.set(path, whole.to_bytes(), znode[1])
