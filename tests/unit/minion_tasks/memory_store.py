"""A property store in memory: with the versions and compare-and-set of ZooKeeper."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.errors import ConflictError
from controller_client.zookeeper import ZNRecord


@dataclass(frozen=True)
class Versioned:
    record: ZNRecord
    version: int


class MemoryPropertyStore:
    def __init__(self) -> None:
        self.nodes: dict[str, tuple[bytes, int]] = {}
        self.created: dict[str, int] = {}
        self.writes = 0

    def get(self, path: str) -> Versioned | None:
        if path not in self.nodes:
            return None
        data, version = self.nodes[path]
        return Versioned(ZNRecord.from_bytes(data), version)

    def create(self, path: str, record: ZNRecord) -> None:
        if path in self.nodes:
            raise ConflictError(f"{path} exists")
        self.nodes[path] = (record.to_bytes(), 0)
        self.writes += 1
        self.created[path] = self.writes

    def set(self, path: str, record: ZNRecord, expected_version: int) -> int:
        _, version = self.nodes[path]
        if version != expected_version:
            raise ConflictError(f"{path} is at version {version}, not {expected_version}")
        self.nodes[path] = (record.to_bytes(), version + 1)
        self.writes += 1
        return version + 1

    def delete(self, path: str, recursive: bool = False) -> None:
        for node in [n for n in self.nodes if n == path or (recursive and n.startswith(path + "/"))]:
            del self.nodes[node]

    def creation_order(self, path: str) -> int | None:
        return self.created[path] if path in self.nodes else None

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return sorted({node[len(prefix) :].split("/")[0] for node in self.nodes if node.startswith(prefix)})
