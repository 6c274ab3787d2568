"""Generations of the key coordinator's state, kept in ZooKeeper.

::

    /<cluster>/PINOT_PLUGINS/upsert/<table with type>/
        generation        Generation: written by the coordinator, which holds the table's lock
        rebuild           what was asked for by ``pinotctl upsert rebuild``

Both have the version of their format in ``simpleFields.format``.

A generation reads the input from its beginning with a state of its own. The request for one names its number,
so that a coordinator which has begun it does not begin it again. A generation is of one engine, and of one
incarnation of the table: of another one's rows it knows nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field

from controller_client.common.formats import Format, log_skipped, with_unknown
from controller_client.common.names import TableName
from controller_client.errors import FormatVersionError
from controller_client.helix import read_record_at
from controller_client.upsert.record import coordinator_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = [
    "GENERATION_FORMAT",
    "REBUILD_FORMAT",
    "Generation",
    "Incarnation",
    "RebuildRequest",
    "following",
    "next_request",
    "read_generation",
    "read_request",
    "request_rebuild",
    "why_new",
    "write_generation",
]


logger = logging.getLogger(__name__)

GENERATION_FORMAT = Format("the generation of a key coordinator's state")
REBUILD_FORMAT = Format("the request of a rebuild")

_NUMBERS = ("number", "base", "engine", "partitions", "buckets", "folder", "since")


@dataclass(frozen=True)
class Incarnation:
    """What a table is for its coordinator; another table of its name, or another topic, is another one.

    Attributes:
        table: When the table was made: the creation order of its config in ZooKeeper.
        topic: Kafka's id of the input topic; empty where Kafka has none.
        rules: Fingerprint of what makes keys and their order, see ``TablePlan``.
    """

    table: int
    topic: str
    rules: str


@dataclass(frozen=True)
class Generation:
    """What stays the same through all restarts of a generation.

    Attributes:
        number: From 1 on.
        base: The version of its first batch; more than all versions before it.
        engine: Which one it is of.
        partitions: Parts of the state, each a task of Spark.
        buckets: Buckets of keys.
        folder: Its state, below the folder that the coordinator is given.
        incarnation: Of the table; None where it was written before that was kept.
        since: The first version that is of this incarnation; versions before it are of another table.
        floors: Engine spark: as of :func:`.rules.live`, for batches from the next start on; they change only
            while no batch is under way, as one that is run again has to do the same.
        until: By input partition, the offset that was the next when it began. Ends of versions are held back
            until all are passed: what is sent before is an older state than queries see.
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

    def has_sent(self, newest: int, batch: int | None) -> bool:
        """Whether the newest version that was sent can be of this generation, or of one before it.

        Args:
            newest: That version; ``NIL`` for none.
            batch: The newest batch that the checkpoint knows of; None where it has none.
        """
        return newest < self.base or (batch is not None and newest <= self.base + batch)

    def holds_back(self, ends: Mapping[int, int]) -> bool:
        """Whether the end of a version whose batch ends at these offsets is not to be sent yet."""
        return any(ends.get(partition, 0) < offset for partition, offset in self.until.items())


@dataclass(frozen=True)
class RebuildRequest:
    """That a generation is wanted.

    Attributes:
        number: Its number.
        partitions: As of :class:`Generation`; None as it is.
        buckets: Likewise.
    """

    number: int
    partitions: int | None = None
    buckets: int | None = None


def following(
    now: Generation | None,
    request: RebuildRequest | None,
    newest: int,
    offsets: Mapping[int, int],
    *,
    engine: str,
    incarnation: Incarnation,
    folder: str,
    partitions: int = 0,
    buckets: int = 0,
) -> Generation:
    """Return the generation after the present one.

    Args:
        now: The present one, if there is one.
        request: The newest request; one that was met counts for nothing.
        newest: The newest version that was sent, of any generation; ``NIL`` for none.
        offsets: The next ones of the input, by partition.
        engine: Its engine.
        incarnation: The table's.
        folder: Its state's.
        partitions: Of the engine's first generation, unless the request differs.
        buckets: Likewise.
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
        # Before the first version there is nothing that queries could go on to see.
        until=dict(offsets) if goes_on and newest >= 0 else {},
    )


def why_new(
    now: Generation | None, engine: str, request: RebuildRequest | None, present: Incarnation
) -> str | None:
    """Return why a generation has to begin, for people; None where the present one can go on.

    Args:
        now: The present one, if there is one.
        engine: The one that runs.
        request: The newest request, if there is one.
        present: The table that is there.
    """
    if now is None:
        return "it is the first"
    if request is not None and request.number > now.number:
        return "it was asked for"
    if now.engine != engine:
        return f"the present one is of the engine {now.engine}"
    if now.incarnation != present:
        return "the table was made again"
    return None


def read_generation(store: PropertyStore, table: TableName) -> Generation | None:
    """The generation of a table (with type); None before the first.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    path = _path(store, table, "generation")
    record = read_record_at(store, path)
    if record is None:
        return None
    simple = record.simple_fields
    GENERATION_FORMAT.check(simple, path)
    found = record.map_fields.get("incarnation")
    return Generation(
        number=int(simple["number"]),
        base=int(simple["base"]),
        engine=simple.get("engine", "spark"),
        partitions=int(simple["partitions"]),
        buckets=int(simple["buckets"]),
        folder=simple["folder"],
        incarnation=Incarnation(int(found["table"]), found["topic"], found["rules"]) if found else None,
        since=int(simple.get("since", 0)),
        floors=tuple(json.loads(simple.get("floors", "[]"))),
        until={
            int(partition): int(offset) for partition, offset in record.map_fields.get("until", {}).items()
        },
    )


def write_generation(store: PropertyStore, table: TableName, generation: Generation) -> None:
    """Write a generation; errors as of :meth:`PropertyStore.connection.set`."""
    of = generation.incarnation
    record = ZNRecord(
        "generation",
        simple_fields=GENERATION_FORMAT.stamp(
            {
                **{name: str(getattr(generation, name)) for name in _NUMBERS},
                "floors": json.dumps(generation.floors),
            }
        ),
        map_fields={
            "until": {str(each): str(offset) for each, offset in generation.until.items()},
            **({"incarnation": {key: str(value) for key, value in asdict(of).items()}} if of else {}),
        },
    )
    _put(
        store,
        _path(store, table, "generation"),
        record,
        GENERATION_FORMAT,
        known=(*_NUMBERS, "floors", "until", "incarnation"),
    )


def read_request(store: PropertyStore, table: TableName) -> RebuildRequest | None:
    """The newest request, also one that was met: compare its number.

    One that a later release wrote is logged and counts for nothing: a coordinator that can read it meets it.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    path = _path(store, table, "rebuild")
    record = read_record_at(store, path)
    if record is None:
        return None
    simple = record.simple_fields
    try:
        REBUILD_FORMAT.check(simple, path)
    except FormatVersionError as error:
        log_skipped(logger, error)
        return None
    partitions, buckets = (
        int(simple[name]) if name in simple else None for name in ("partitions", "buckets")
    )
    return RebuildRequest(int(simple["number"]), partitions, buckets)


def next_request(
    store: PropertyStore, table: TableName, *, partitions: int | None = None, buckets: int | None = None
) -> RebuildRequest:
    """The request that :func:`request_rebuild` would write; nothing is written."""
    now = read_generation(store, table)
    return RebuildRequest(now.number + 1 if now else 1, partitions, buckets)


def request_rebuild(
    store: PropertyStore, table: TableName, *, partitions: int | None = None, buckets: int | None = None
) -> RebuildRequest:
    """Ask for a new generation; one that is asked for and not begun yet is asked for with these numbers.

    Raises:
        ConflictError: Somebody else asked at the same time.
        FormatVersionError: A later release wrote what is there.
    """
    request = next_request(store, table, partitions=partitions, buckets=buckets)
    values = {"number": request.number, "partitions": partitions, "buckets": buckets}
    fields = {name: str(value) for name, value in values.items() if value is not None}
    record = ZNRecord("rebuild", simple_fields=REBUILD_FORMAT.stamp(fields))
    _put(store, _path(store, table, "rebuild"), record, REBUILD_FORMAT, known=tuple(values))
    return request


def _path(store: PropertyStore, table: TableName, name: str) -> str:
    return f"{coordinator_path(store, table).rpartition('/')[0]}/{name}"


def _put(store: PropertyStore, path: str, record: ZNRecord, of: Format, *, known: Collection[str]) -> None:
    """Write a record with those of its present fields that this release does not know."""
    found = store.connection.get(path)
    if found is None:
        store.connection.create(path, record.to_bytes())
        return
    present = ZNRecord.from_bytes(found[0], where=path)
    of.check(present.simple_fields, path)
    known = (of.field, *known)
    whole = ZNRecord(
        record.id,
        with_unknown(record.simple_fields, present.simple_fields, known),
        present.list_fields,
        with_unknown(record.map_fields, present.map_fields, known),
    )
    store.connection.set(path, whole.to_bytes(), found[1])
