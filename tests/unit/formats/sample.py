"""A record, how it is written and read, and the same record in a later format."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller_client.common.formats import Format
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.unit.memory_zookeeper import CLUSTER, memory_store

OFFLINE, REALTIME = TableName("t_OFFLINE"), TableName("t_REALTIME")
PROPERTIES = f"/{CLUSTER}/PROPERTYSTORE"
PLUGINS = f"/{CLUSTER}/PINOT_PLUGINS"
INSTANCE, SESSION = "Server_h_8098", "100a"


@dataclass(frozen=True)
class Sample:
    """One record.

    Attributes:
        file: Name of its fixture.
        format: Its format.
        write: Writes it, given an empty folder; returns its bytes.
        read: Reads it from bytes, given an empty folder.
        value: The result of reading it.
        newer: Converts its bytes to those of a record of the next version.
        is_skipped: Whether a newer record is logged and ignored instead of raising.
    """

    file: str
    format: Format
    write: Callable[[Path], bytes]
    read: Callable[[bytes, Path], object]
    value: object
    newer: Callable[[bytes], bytes]
    is_skipped: bool = False

    @property
    def next_version(self) -> int:
        return self.format.version + 1


def live_store() -> PropertyStore:
    """A store of a cluster with one live server."""
    store, zookeeper = memory_store()
    live = ZNRecord(INSTANCE, {"SESSION_ID": SESSION})
    zookeeper.create(f"/{CLUSTER}/LIVEINSTANCES/{INSTANCE}", live.to_bytes())
    return store


def znode(
    name: str,
    record_format: Format,
    path: str,
    write: Callable[[PropertyStore], object],
    read: Callable[[PropertyStore], object],
    value: object,
    *,
    is_skipped: bool = False,
) -> Sample:
    """A sample in ZooKeeper; the fixture is its JSON, even if it is written compressed."""

    def written(_folder: Path) -> bytes:
        store = live_store()
        write(store)
        found = store.connection.get(path)
        assert found is not None, path
        return ZNRecord.from_bytes(found[0]).to_bytes(compress=False) + b"\n"

    def read_back(data: bytes, _folder: Path) -> object:
        store = live_store()
        store.connection.create(path, data)
        return read(store)

    def newer(data: bytes) -> bytes:
        document = json.loads(data)
        document["simpleFields"][record_format.field] = str(record_format.version + 1)
        return json.dumps(document).encode()

    return Sample(f"{name}.json", record_format, written, read_back, value, newer, is_skipped)


def file(
    name: str,
    record_format: Format,
    write: Callable[[Path], object],
    read: Callable[[Path], object],
    value: object,
    newer: Callable[[bytes], bytes] | None = None,
) -> Sample:
    """A sample in a file in a folder; the fixture's name is that of the sample, then that of the file."""

    def written(folder: Path) -> bytes:
        write(folder)
        return (folder / name.partition("-")[2]).read_bytes()

    def read_back(data: bytes, folder: Path) -> object:
        (folder / name.partition("-")[2]).write_bytes(data)
        return read(folder)

    return Sample(name, record_format, written, read_back, value, newer or next_json(record_format))


def document(
    name: str,
    record_format: Format,
    write: Callable[[], Any],
    read: Callable[[Any], object],
    value: object,
) -> Sample:
    """A sample that another system keeps as a JSON document."""

    def written(_folder: Path) -> bytes:
        return json.dumps(write(), indent=2).encode() + b"\n"

    def read_back(data: bytes, _folder: Path) -> object:
        return read(json.loads(data))

    return Sample(f"{name}.json", record_format, written, read_back, value, next_json(record_format))


def message(
    name: str,
    record_format: Format,
    data: Callable[[], bytes],
    read: Callable[[bytes], object],
    value: object,
    newer: Callable[[bytes], bytes],
) -> Sample:
    """A sample that consists of bytes."""
    return Sample(name, record_format, lambda _: data(), lambda found, _: read(found), value, newer)


def next_json(record_format: Format) -> Callable[[bytes], bytes]:
    """Convert a JSON document to the next version, with the number or text form that it has."""

    def newer(data: bytes) -> bytes:
        found = json.loads(data)
        number = record_format.version + 1
        is_text = isinstance(found.get(record_format.field, ""), str)
        return json.dumps({**found, record_format.field: str(number) if is_text else number}).encode()

    return newer
