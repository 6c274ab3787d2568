"""Metadata of Parquet files, as far as this project reads them."""

from __future__ import annotations

from contextlib import suppress

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.parquet_source import parquet_columns, parquet_times
from jvm_bridge.input_rules import FileFormat
from tests.fuzz.scratch import file_with


def parse(data: bytes) -> None:
    file = SourceFile(file_with(data, "a.parquet"), FileFormat.PARQUET)
    for read in (parquet_times, parquet_columns):
        with suppress(DataError, Unsuitable):
            read(file)
