"""Helix's property store of a Pinot cluster: table configs, schemas, segment metadata, lineage and more."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Self

from kazoo.client import KazooClient

from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, NotFoundError
from controller_client.zookeeper.compare_and_set import Alongside, Change, Changed, change_record
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.record import Versioned, ZNRecord
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["PropertyStore", "read_segment_records", "segment_path", "segments_path"]

_PAGE = 1000


class PropertyStore(Closing):
    """Reads and writes records below ``/<cluster>/PROPERTYSTORE``.

    A context manager: entering connects and checks that the cluster exists. Nothing is cached: each call
    reads ZooKeeper's current state, even after a lost session. Paths begin with ``/``; an empty znode (a
    folder) has no record.

    Args:
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Helix's name of the cluster.
        client: A KazooClient to use; default: a new one.
        timeout_s: Time limit of a call, including connecting.
        clock: Time and sleep between attempts of a compare-and-set.
        rng: Random source for the jitter of these pauses.
        access: How to authenticate to ZooKeeper; default: from the environment.
        session_timeout_s: ZooKeeper ends the session after this time without a heartbeat; default: 10.
    """

    def __init__(
        self,
        zookeeper_address: str,
        cluster_name: str,
        *,
        client: KazooClient | None = None,
        timeout_s: float = 10.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        access: ZooKeeperAccess | None = None,
        session_timeout_s: float | None = None,
    ) -> None:
        self.zookeeper_address = zookeeper_address
        self.cluster_name = cluster_name
        self.access = access
        self._clock = clock or SystemClock()
        self.connection = ZooKeeperConnection(
            zookeeper_address,
            client=client,
            timeout_s=timeout_s,
            clock=self._clock,
            access=access,
            session_timeout_s=session_timeout_s,
        )
        self._rng = rng or random.Random()  # noqa: S311  # jitter
        self._cluster = f"/{cluster_name}"
        self._root = f"/{cluster_name}/PROPERTYSTORE"

    def __enter__(self) -> Self:
        self.connection.__enter__()
        try:
            self._check_cluster()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the session with ZooKeeper."""
        self.connection.close()

    def get(self, path: str) -> Versioned | None:
        """Return the record at a path; None if the znode does not exist or is empty.

        Raises:
            DataError: The znode does not contain a record.
            UnreachableError: ZooKeeper does not answer.
        """
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        """Return the records at many paths, in their order; pipelined, so it takes few round trips."""
        contents = self.connection.get_many([self.absolute(path) for path in paths])
        return [
            Versioned(ZNRecord.from_bytes(content[0], where=path), content[1])
            if content and content[0]
            else None
            for path, content in zip(paths, contents, strict=True)
        ]

    def create(self, path: str, record: ZNRecord) -> None:
        """Create a record and any missing folders above it. Its version is 0.

        Raises:
            ConflictError: The record already exists.
            DataError: The record is too large.
            UnreachableError: ZooKeeper does not answer; nothing was sent.
            OutcomeUnknownError: The reply was lost, and ZooKeeper cannot be reached to check the outcome.
        """
        self.connection.create(self.absolute(path), record.to_bytes())

    def set(self, path: str, record: ZNRecord, expected_version: int) -> int:
        """Replace a record if it still has the version that the change is based on.

        Returns:
            The new version.

        Raises:
            ConflictError: It was changed in the meantime.
            NotFoundError: It was deleted in the meantime, or never existed.
            DataError: The record is too large.
            UnreachableError: ZooKeeper does not answer; nothing was sent.
            OutcomeUnknownError: The reply was lost, and the current record does not show whether it was
                applied.
        """
        return self.connection.set(self.absolute(path), record.to_bytes(), expected_version)

    def change(self, path: str, change: Change, *, alongside: Alongside | None = None) -> Changed:
        """Change a record by compare-and-set; see :func:`.change_record` for details and errors."""
        return self.change_at(self.absolute(path), change, alongside=alongside)

    def change_at(self, path: str, change: Change, *, alongside: Alongside | None = None) -> Changed:
        """Like :meth:`change`, for the absolute path of a record outside the property store."""
        return change_record(
            self.connection, path, change, clock=self._clock, rng=self._rng, alongside=alongside
        )

    def delete(self, path: str, recursive: bool = False, *, expected_version: int | None = None) -> None:
        """Delete a record; with ``recursive``, everything below it first.

        Raises:
            NotFoundError: It does not exist.
            ConflictError: There is something below it, or it no longer has the expected version.
        """
        self.connection.delete(self.absolute(path), recursive=recursive, expected_version=expected_version)

    def children(self, path: str) -> list[str]:
        """Return the names below a path, sorted; empty if the path does not exist."""
        return self.connection.children(self.absolute(path)) or []

    def creation_order(self, path: str) -> int | None:
        """Return a number that increases with the time of creation (not of change); None without a record."""
        return self.connection.creation_order(self.absolute(path))

    def live_instances(self) -> list[str]:
        """Return the names of the connected instances."""
        return self.connection.children(f"{self._cluster}/LIVEINSTANCES") or []

    def instance_tags(self, name: str) -> list[str]:
        """Return the tags of an instance.

        Raises:
            NotFoundError: There is no such instance.
        """
        path = f"{self._cluster}/CONFIGS/PARTICIPANT/{name}"
        znode = self.connection.get(path)
        if znode is None:
            raise NotFoundError(
                f"the instance {name} does not exist", where=f"{path} in {self.zookeeper_address}"
            )
        return ZNRecord.from_bytes(znode[0], where=path).list_fields.get("TAG_LIST", [])

    def live_instance_tags(self) -> dict[str, list[str]]:
        """Return the tags of the connected instances, read together.

        An instance without a config has no tags: it joined a moment ago, or was dropped.
        """
        names = self.live_instances()
        paths = [f"{self._cluster}/CONFIGS/PARTICIPANT/{name}" for name in names]
        return {
            name: ZNRecord.from_bytes(found[0], where=path).list_fields.get("TAG_LIST", []) if found else []
            for name, path, found in zip(names, paths, self.connection.get_many(paths), strict=True)
        }

    def _check_cluster(self) -> None:
        if self.connection.exists(self._root):
            return
        names = self.connection.children("/")
        others = ", ".join(name for name in names or () if name != "zookeeper")
        raise NotFoundError(
            f"this ZooKeeper has no cluster {self.cluster_name}",
            expected=f"the name of an existing cluster: {others or '(none)'}",
            where=self.zookeeper_address,
            remedy="check the cluster's name, and the chroot at the end of the address",
        )

    def absolute(self, path: str) -> str:
        """Return the absolute path of a znode in the property store, for the connection."""
        if not path.startswith("/") or "//" in path:
            raise ConfigError(
                f"{path!r} is not a path in the property store", expected="e.g. /SEGMENTS/flights_OFFLINE"
            )
        return self._root + path.rstrip("/")


def segments_path(table: TableName) -> str:
    """Return the path of the folder with the records of a table's segments."""
    return f"/SEGMENTS/{table}"


def segment_path(table: TableName, segment: str) -> str:
    """Return the path of a segment's record in the property store; the table's name is with type."""
    return f"{segments_path(table)}/{segment}"


def read_segment_records(
    store: PropertyStore, table: TableName, segments: Sequence[str]
) -> Iterator[tuple[str, ZNRecord]]:
    """Yield segments with their records, a page in memory at a time; those deleted meanwhile are omitted."""
    for start in range(0, len(segments), _PAGE):
        page = segments[start : start + _PAGE]
        records = store.get_many([segment_path(table, name) for name in page])
        for name, versioned in zip(page, records, strict=True):
            if versioned is not None:
                yield name, versioned.record
