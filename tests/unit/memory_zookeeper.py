"""ZooKeeper's znodes in memory, with versions, in place of a connection: for tests of the logic above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from controller_client.errors import ConflictError, NotFoundError
from controller_client.zookeeper import (
    Children,
    CreateNode,
    DeleteNode,
    PropertyStore,
    Write,
    Znode,
    ZooKeeperConnection,
)
from controller_client.zookeeper.transaction import CheckVersion, SetContent
from tests.unit.fake_clock import FakeClock

CLUSTER = "c"
_ROOT = f"/{CLUSTER}/PROPERTYSTORE"


class MemoryZooKeeper(ZooKeeperConnection):
    """A connection that keeps znodes in a dictionary and connects to nothing.

    Args:
        before_write: Called with the path before each create, set and delete, including the deletes of a
            deleted znode's children; a test can let a process die there.

    Attributes:
        znodes: Content and version by absolute path.
        before_set: Called before each compare-and-set, e.g. to simulate a concurrent writer.
        sets: Paths of the compare-and-sets, including those that conflicted.
        writes: Number of writes that were applied.
        read_counts: Number of reads of each path or its children, including reads that set a watch.
    """

    def __init__(self, before_write: Callable[[str], None] = lambda _path: None) -> None:
        super().__init__("127.0.0.1:1")
        self.before_write = before_write
        self.writes = 0
        self.znodes: dict[str, tuple[bytes, int]] = {}
        self.created: list[str] = []
        self.before_set: Callable[[str], None] = lambda _path: None
        self.sets: list[str] = []
        self.read_counts: Counter[str] = Counter()
        self._zxids: dict[str, int] = {}
        self._child_zxids: dict[str, int] = {}
        self._watches: dict[str, set[Callable[[Any], None]]] = {}
        self._child_watches: dict[str, set[Callable[[Any], None]]] = {}

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        self.read_counts.update(paths)
        return [self.znodes.get(path) for path in paths]

    def read(self, path: str, changed: Callable[[Any], None] | None = None) -> Znode | None:
        found = self.get(path)
        if changed:
            self._watches.setdefault(path, set()).add(changed)
        return None if found is None else Znode(*found, self._zxids.get(path, 0))

    def read_children(self, path: str, changed: Callable[[Any], None] | None = None) -> Children:
        names = self.children(path)
        if changed:
            self._child_watches.setdefault(path, set()).add(changed)
        return Children(tuple(names or ()), self._child_zxids.get(path, 0))

    def children(self, path: str) -> list[str] | None:
        self.read_counts[path] += 1
        return self._names(path)

    def _names(self, path: str) -> list[str] | None:
        below = path.rstrip("/") + "/"
        names = {name.removeprefix(below).split("/")[0] for name in self.znodes if name.startswith(below)}
        return sorted(names) if names or path in self.znodes else None

    def exists(self, path: str) -> bool:
        self.read_counts[path] += 1
        return self._names(path) is not None

    def creation_order(self, path: str) -> int | None:
        self.read_counts[path] += 1
        return len(self.created) - self.created[::-1].index(path) if path in self.znodes else None

    def current_zxid(self) -> int:
        return len(self.created)

    def create(self, path: str, data: bytes) -> None:
        self.before_write(path)
        if path in self.znodes:
            raise ConflictError("the znode already exists", where=path)
        self.znodes[path] = (data, 0)
        self.created.append(path)
        self._wrote(path, comes_or_goes=True)

    def set(self, path: str, data: bytes, expected_version: int) -> int:
        self.sets.append(path)
        self.before_set(path)
        self.before_write(path)
        if path not in self.znodes:
            raise NotFoundError("no znode", where=path)
        version = self.znodes[path][1]
        if version != expected_version:
            raise ConflictError(f"version {version}, not {expected_version}", where=path)
        self.znodes[path] = (data, version + 1)
        self._wrote(path)
        return version + 1

    def delete(self, path: str, *, recursive: bool = False, expected_version: int | None = None) -> None:
        self.before_write(path)
        if path not in self.znodes and not (recursive and self.exists(path)):
            raise NotFoundError("no znode", where=path)
        if expected_version is not None and self.znodes[path][1] != expected_version:
            raise ConflictError("another version", where=path)
        below = [name for name in self.znodes if name.startswith(path + "/")]
        if below and not recursive:
            raise ConflictError("the znode has children", where=path)
        # As in ZooKeeper, children are deleted first, znode by znode.
        for name in sorted(below, reverse=True):
            self.before_write(name)
            del self.znodes[name]
        self.znodes.pop(path, None)
        self._wrote(path, comes_or_goes=True)

    def commit(self, writes: Sequence[Write]) -> None:
        undo: list[tuple[str, tuple[bytes, int] | None]] = []
        try:
            for write in writes:
                before = self.znodes.get(write.path)
                match write:
                    case CreateNode():
                        self.create(write.path, write.content)
                    case SetContent():
                        self.set(write.path, write.content, write.version)
                    case DeleteNode():
                        self.delete(write.path)
                    case CheckVersion() if before is None or before[1] != write.version:
                        raise ConflictError("another version", where=write.path)
                undo.append((write.path, before))
        except (NotFoundError, ConflictError) as error:
            for path, before in undo:
                self.znodes.pop(path, None)
                if before is not None:
                    self.znodes[path] = before
            raise ConflictError("a znode is not as expected", where=error.where) from error

    def cut(self) -> None:
        """Lose and restore the connection: as in kazoo, watches are called and removed."""
        for watches in (self._watches, self._child_watches):
            for path in list(watches):
                for changed in watches.pop(path):
                    changed(None)

    def _wrote(self, path: str, *, comes_or_goes: bool = False) -> None:
        self.writes += 1
        self._zxids[path] = self.writes
        folder = path.rpartition("/")[0]
        called = self._watches.pop(path, set())
        if comes_or_goes:
            self._child_zxids[folder] = self.writes
            called |= self._child_watches.pop(folder, set())
        for changed in called:
            changed(None)


class MemoryPropertyStore(PropertyStore):
    """A property store of the cluster ``c`` on znodes in memory."""

    def __init__(self, before_write: Callable[[str], None] = lambda _path: None) -> None:
        super().__init__("127.0.0.1:1", CLUSTER, clock=FakeClock())
        self.zookeeper = MemoryZooKeeper(before_write)
        self.connection = self.zookeeper

    @property
    def nodes(self) -> dict[str, tuple[bytes, int]]:
        """Content and version by path in the property store."""
        return {path.removeprefix(_ROOT): node for path, node in self.zookeeper.znodes.items()}

    @property
    def writes(self) -> int:
        """The number of writes that were applied."""
        return self.zookeeper.writes

    def put(self, path: str, data: bytes, version: int) -> None:
        """Set a znode, without counting it as a write."""
        self.zookeeper.znodes[_ROOT + path] = (data, version)


def memory_store() -> tuple[MemoryPropertyStore, MemoryZooKeeper]:
    """Return a property store on znodes in memory, and these."""
    store = MemoryPropertyStore()
    return store, store.zookeeper
