"""Headers and blocks of Avro files, as far as Python reads them."""

from __future__ import annotations

from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.sources.avro_file import check_avro
from jvm_bridge.input_rules import FileFormat
from tests.fuzz.scratch import file_with


def parse(data: bytes) -> None:
    name = "a.avro.gz" if data.startswith(b"\x1f\x8b") else "a.avro"
    try:
        check_avro(SourceFile(file_with(data, name), FileFormat.AVRO))
    except UnreadableFileError:
        return
