"""JSON files: lines, or one array."""

from __future__ import annotations

from contextlib import suppress

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.json_array import check_array
from jvm_bridge.builder.sources.json_source import first_keys
from jvm_bridge.builder.sources.text_input import check_text
from jvm_bridge.input_rules import FileFormat
from tests.fuzz.scratch import file_with, folder


def parse(data: bytes) -> None:
    name = "a.json.gz" if data.startswith(b"\x1f\x8b") else "a.json"
    file = SourceFile(file_with(data, name), FileFormat.JSON)
    with suppress(DataError):
        check_text(file, "utf-8", folder() / "copy", ["a", "b"])
    with suppress(Unsuitable):
        first_keys(file.path)
    with suppress(DataError):
        check_array(file)
