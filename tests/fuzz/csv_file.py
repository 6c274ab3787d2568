"""Headers of CSV files, and files of text with their encodings."""

from __future__ import annotations

from contextlib import suppress

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.csv_header import read_header, write_with_header
from jvm_bridge.builder.sources.text_input import check_text
from jvm_bridge.input_rules import FileFormat
from tests.fuzz.scratch import file_with, folder


def parse(data: bytes) -> None:
    name = "a.csv.gz" if data.startswith(b"\x1f\x8b") else "a.csv"
    file = SourceFile(file_with(data, name), FileFormat.CSV)
    with suppress(Unsuitable, DataError):
        header = read_header(file.path, ",")
        write_with_header(file, header, [f"c{at}" for at in range(len(header.names))], ",", folder() / "copy")
    with suppress(DataError):
        check_text(file, "utf-8", folder() / "copy")
