"""A property store in memory: with the versions and compare-and-set of ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_client.errors import ConflictError, NotFoundError
from controller_client.zookeeper import Versioned, ZNRecord


class MemoryPropertyStore:
    """Paths to records.

    Args:
        before_write: Called with the path before each write that is applied: where a test lets something else
            happen first, or a process die.
    """

    def __init__(self, before_write: Callable[[str], None] = lambda _path: None) -> None:
        self.nodes: dict[str, tuple[bytes, int]] = {}
        self.created: dict[str, int] = {}
        self.writes = 0
        self.before_write = before_write

    def get(self, path: str) -> Versioned | None:
        if path not in self.nodes:
            return None
        data, version = self.nodes[path]
        return Versioned(ZNRecord.from_bytes(data, where=path), version)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        return [self.get(path) for path in paths]

    def create(self, path: str, record: ZNRecord) -> None:
        self.before_write(path)
        if path in self.nodes:
            raise ConflictError(f"{path} exists")
        self.nodes[path] = (record.to_bytes(), 0)
        self.writes += 1
        self.created[path] = self.writes

    def set(self, path: str, record: ZNRecord, expected_version: int) -> int:
        self.before_write(path)
        if path not in self.nodes:
            raise NotFoundError(f"there is no {path}")
        _, version = self.nodes[path]
        if version != expected_version:
            raise ConflictError(f"{path} is at version {version}, not {expected_version}")
        self.nodes[path] = (record.to_bytes(), version + 1)
        self.writes += 1
        return version + 1

    def delete(self, path: str, recursive: bool = False) -> None:
        self.before_write(path)
        below = [node for node in self.nodes if node.startswith(path + "/")]
        if path not in self.nodes and not below:
            raise NotFoundError(f"there is no {path}")
        if below and not recursive:
            raise ConflictError(f"there is something below {path}")
        # As in ZooKeeper, what is below goes first, node by node.
        for node in sorted(below, reverse=True):
            self.before_write(node)
            del self.nodes[node]
        self.nodes.pop(path, None)
        self.writes += 1

    def creation_order(self, path: str) -> int | None:
        return self.created[path] if path in self.nodes else None

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return sorted({node[len(prefix) :].split("/")[0] for node in self.nodes if node.startswith(prefix)})
