"""Segments of an upsert table in a process with a JVM; versions are written as by the hook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jpype
import numpy as np
import pyarrow as pa

from controller_client.segment_tar import unpack_tar
from controller_client.upsert.columns import NIL, SYSTEM_COLUMNS, VALID_FROM, VALID_UNTIL
from jvm_bridge.builder import SegmentBuilder
from server_hooks.upsert.first_versions import VersionsOfRows, write_first
from server_hooks.upsert.sealed_rows import map_column
from server_hooks.upsert.served_versions import SegmentVersions, attach
from tests.contract.tables import schema_of, table_config

__all__ = ["TABLE", "ConsumingSegment", "SealedSegment", "UpsertSegment"]

TABLE = "u_REALTIME"

_NAME = "u__0__0__20260101T0000Z"
_LOCAL = "org.apache.pinot.segment.local"
_SPI = "org.apache.pinot.spi"


class ConsumingSegment:
    """A consuming segment."""

    def __init__(self, folder: Path) -> None:
        schema = jpype.JClass(f"{_SPI}.data.Schema").fromString(json.dumps(_schema()))
        history = jpype.JClass(f"{_LOCAL}.realtime.impl.RealtimeSegmentStatsHistory")
        # The name was misspelt once.
        read = getattr(history, "deserializeFrom", None) or history.deserialzeFrom
        config = (
            _indexed_builder(schema, folder)
            .setTableNameWithType(TABLE)
            .setSegmentName(_NAME)
            .setStreamName("t")
            .setSchema(schema)
            .setCapacity(1000)
            .setAvgNumMultiValues(1)
            .setSegmentZKMetadata(
                jpype.JClass("org.apache.pinot.common.metadata.segment.SegmentZKMetadata")(_NAME)
            )
            .setMemoryManager(_memory())
            .setStatsHistory(read(jpype.JClass("java.io.File")(str(folder / "statistics"))))
            .build()
        )
        self.pinot = jpype.JClass(f"{_LOCAL}.indexsegment.mutable.MutableSegmentImpl")(config, None)
        self._columns = np.full((2, 0), NIL)
        self._versions = attach(TABLE, self.pinot)

    def add(self, values: list[int]) -> None:
        """Index rows."""
        row = jpype.JClass("org.apache.pinot.spi.data.readers.GenericRow")()
        for column in SYSTEM_COLUMNS:
            row.putValue(column, jpype.JClass("java.lang.Long")(NIL))
        for value in values:
            row.putValue("a", jpype.JInt(value))
            self.pinot.index(row, None)
        self._columns = np.concatenate([self._columns, np.full((2, len(values)), NIL)], axis=1)

    def write(self, versions: Sequence[VersionsOfRows]) -> None:
        """Write the versions that insert and delete rows, and report them."""
        if changes := write_first(list(self._columns), versions):
            self._versions.write(changes)

    def attach(self) -> None:
        """Report writes from now on."""
        self._versions = attach(TABLE, self.pinot)

    def detach(self) -> None:
        """Stop reporting."""
        self._versions.end()


class SealedSegment:
    """A sealed segment, which gets its rows at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.pinot: Any = None
        self._columns: list[Any] = []
        self._versions: SegmentVersions | None = None

    def add(self, values: list[int]) -> None:
        config = table_config(
            indexing={"noDictionaryColumns": list(SYSTEM_COLUMNS)},
            fieldConfigList=[
                {"name": name, "encodingType": "RAW", "compressionCodec": "PASS_THROUGH"}
                for name in SYSTEM_COLUMNS
            ],
        )
        nils = pa.array([NIL] * len(values), pa.int64())
        table = pa.table({"a": pa.array(values, pa.int32()), **dict.fromkeys(SYSTEM_COLUMNS, nils)})
        built = SegmentBuilder(config, _schema(), self._folder).from_arrow(table, _NAME)
        folder = unpack_tar(built.tar_path, self._folder, _NAME)
        self._columns = [map_column(folder, column, mode="r+") for column in (VALID_FROM, VALID_UNTIL)]
        mapped = jpype.JClass("org.apache.pinot.spi.utils.ReadMode").mmap
        loader = jpype.JClass(f"{_LOCAL}.indexsegment.immutable.ImmutableSegmentLoader")
        self.pinot = loader.load(jpype.JClass("java.io.File")(str(folder)), mapped)
        self.attach()

    def write(self, versions: Sequence[VersionsOfRows]) -> None:
        if (changes := write_first(self._columns, versions)) and self._versions:
            self._versions.wrote(changes)

    def attach(self) -> None:
        self._versions = attach(TABLE, self.pinot)

    def detach(self) -> None:
        if self._versions:
            self._versions.end()


UpsertSegment = ConsumingSegment | SealedSegment


def _memory() -> Any:
    """A consuming segment's memory; it requires metrics, which jars without a cluster cannot register."""
    manager = jpype.JClass(f"{_LOCAL}.io.writer.impl.DirectMemoryManager")
    metrics = jpype.JClass("org.apache.pinot.common.metrics.ServerMetrics")
    return manager(_NAME, metrics.get()) if hasattr(metrics, "get") else manager(_NAME)


def _indexed_builder(schema: Any, folder: Path) -> Any:
    """The builder of a consuming segment's config, with its indexes, whose form depends on the version."""
    builder = jpype.JClass(f"{_LOCAL}.realtime.impl.RealtimeSegmentConfig").Builder
    plain = {"noDictionaryColumns": list(SYSTEM_COLUMNS)}
    if not hasattr(builder, "setNoDictionaryColumns"):
        table = jpype.JClass(f"{_SPI}.utils.JsonUtils").stringToObject(
            json.dumps(table_config(indexing=plain)), jpype.JClass(f"{_SPI}.config.table.TableConfig").class_
        )
        return builder(table, schema).setConsumerDir(str(folder))
    sets = jpype.JClass("java.util.Collections").emptySet()
    return (
        builder()
        .setNoDictionaryColumns(jpype.JClass("java.util.HashSet")(list(SYSTEM_COLUMNS)))
        .setJsonIndexColumns(sets)
        .setVarLengthDictionaryColumns(sets)
        .setInvertedIndexColumns(sets)
    )


def _schema() -> dict[str, Any]:
    return {**schema_of({"a": "INT", **dict.fromkeys(SYSTEM_COLUMNS, "LONG")}), "schemaName": "t"}
