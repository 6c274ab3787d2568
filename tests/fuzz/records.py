"""Records in ZooKeeper, Kafka and files: the first byte chooses the reader."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from controller_client.errors import PinotPluginError
from controller_client.zookeeper import ZNRecord
from tests.fuzz.scratch import folder
from tests.unit.formats.files import FILES
from tests.unit.formats.znodes import ZNODES

# A pickle goes from a process to itself.
READERS = {sample.file: sample.read for sample in (*ZNODES, *FILES) if not sample.file.endswith(".pickle")}
_DOCUMENTS = {name for name, read in READERS.items() if read.__qualname__.startswith("document.")}
"""What another system keeps: it arrives as JSON."""
_NAMES = [*sorted(READERS), "record"]


def parse(data: bytes) -> None:
    name, content = _NAMES[data[0] % len(_NAMES)] if data else "record", data[1:]
    if name in _DOCUMENTS and not _is_json(content):
        return
    with suppress(PinotPluginError):
        if name == "record":
            ZNRecord.from_bytes(content)
            return
        room = Path(tempfile.mkdtemp(dir=folder()))
        try:
            READERS[name](content, room)
        finally:
            shutil.rmtree(room)


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
