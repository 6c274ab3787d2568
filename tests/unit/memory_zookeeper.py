"""ZooKeeper's znodes in memory, with their versions, in place of the connection: for logic above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_client.errors import ConflictError, NotFoundError
from controller_client.zookeeper import PropertyStore, ZooKeeperConnection

CLUSTER = "c"


class MemoryZooKeeper(ZooKeeperConnection):
    """A connection that keeps znodes in a dictionary and connects to nothing.

    Attributes:
        before_set: Called before each compare-and-set, e.g. to be somebody else who writes meanwhile.
        sets: Paths of the compare-and-sets, those that conflicted among them.
    """

    def __init__(self) -> None:
        super().__init__("127.0.0.1:1")
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
        if path in self.znodes:
            raise ConflictError("the znode is there already", where=path)
        self.znodes[path] = (data, 0)
        self.created.append(path)

    def set(self, path: str, data: bytes, expected_version: int) -> int:
        self.sets.append(path)
        self.before_set(path)
        if path not in self.znodes:
            raise NotFoundError("no znode", where=path)
        version = self.znodes[path][1]
        if version != expected_version:
            raise ConflictError(f"version {version}, not {expected_version}", where=path)
        self.znodes[path] = (data, version + 1)
        return version + 1

    def delete(self, path: str, *, recursive: bool = False, expected_version: int | None = None) -> None:
        if path not in self.znodes and not (recursive and self.exists(path)):
            raise NotFoundError("no znode", where=path)
        if expected_version is not None and self.znodes[path][1] != expected_version:
            raise ConflictError("another version", where=path)
        below = [name for name in self.znodes if name.startswith(path + "/")]
        if below and not recursive:
            raise ConflictError("the znode has children", where=path)
        for name in [*below, path]:
            self.znodes.pop(name, None)


def memory_store() -> tuple[PropertyStore, MemoryZooKeeper]:
    """Return a property store of the cluster ``c`` on znodes in memory."""
    store, zookeeper = PropertyStore("127.0.0.1:1", CLUSTER), MemoryZooKeeper()
    store.connection = zookeeper
    return store, zookeeper
