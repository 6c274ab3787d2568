"""ZooKeeper's znodes in memory, with their versions, in place of the connection: for logic above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_client.errors import ConflictError, NotFoundError
from controller_client.zookeeper import PropertyStore, ZooKeeperConnection
from tests.unit.fake_clock import FakeClock

CLUSTER = "c"
_ROOT = f"/{CLUSTER}/PROPERTYSTORE"


class MemoryZooKeeper(ZooKeeperConnection):
    """A connection that keeps znodes in a dictionary and connects to nothing.

    Args:
        before_write: Called with the path before each create, set and delete, also of what is below a deleted
            znode: where a test lets a process die.

    Attributes:
        znodes: Content and version by absolute path.
        before_set: Called before each compare-and-set, e.g. to be somebody else who writes meanwhile.
        sets: Paths of the compare-and-sets, those that conflicted among them.
        writes: How many writes were applied.
    """

    def __init__(self, before_write: Callable[[str], None] = lambda _path: None) -> None:
        super().__init__("127.0.0.1:1")
        self.before_write = before_write
        self.writes = 0
        self.znodes: dict[str, tuple[bytes, int]] = {}
        self.created: list[str] = []
        self.before_set: Callable[[str], None] = lambda _path: None
        self.sets: list[str] = []

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        return [self.znodes.get(path) for path in paths]

    def children(self, path: str) -> list[str] | None:
        below = path.rstrip("/") + "/"
        names = {name.removeprefix(below).split("/")[0] for name in self.znodes if name.startswith(below)}
        return sorted(names) if names or path in self.znodes else None

    def exists(self, path: str) -> bool:
        return self.children(path) is not None

    def creation_order(self, path: str) -> int | None:
        return len(self.created) - self.created[::-1].index(path) if path in self.znodes else None

    def create(self, path: str, data: bytes) -> None:
        self.before_write(path)
        if path in self.znodes:
            raise ConflictError("the znode is there already", where=path)
        self.znodes[path] = (data, 0)
        self.created.append(path)
        self.writes += 1

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
        self.writes += 1
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
        # As in ZooKeeper, what is below goes first, znode by znode.
        for name in sorted(below, reverse=True):
            self.before_write(name)
            del self.znodes[name]
        self.znodes.pop(path, None)
        self.writes += 1


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
        """How many writes were applied."""
        return self.zookeeper.writes

    def put(self, path: str, data: bytes, version: int) -> None:
        """Let a znode be so, without a write of ours."""
        self.zookeeper.znodes[_ROOT + path] = (data, version)


def memory_store() -> tuple[MemoryPropertyStore, MemoryZooKeeper]:
    """Return a property store on znodes in memory, and these."""
    store = MemoryPropertyStore()
    return store, store.zookeeper
