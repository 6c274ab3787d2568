"""A child process with a JVM that builds segments and reads them back: one JSON request and reply per line.

Run as ``python -m tests.contract.child``; only the parent's ``SegmentChild`` talks to it.
"""

from __future__ import annotations

import importlib
import json
import resource
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import jpype
import pyarrow as pa
import pyarrow.ipc

from controller_client.errors import PinotPluginError
from controller_client.models import Schema, TableConfig
from controller_client.segment_tar import unpack_tar
from jvm_bridge.builder import (
    BuiltSegment,
    ColumnMismatch,
    FileFormat,
    InputRules,
    MissingLimit,
    SegmentBuilder,
    mapped_rows,
)
from jvm_bridge.builder.columnar import column_file
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.pinot_classes import (
    has_class,
    has_constructor,
    has_method,
    is_pinot_1,
    keeps_source_types,
    parse_schema,
    parse_table_config,
)
from jvm_bridge.builder.sources.avro_source import applies_logical_types_by_default
from jvm_bridge.builder.transformers import replaces_special_values
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes
from jvm_bridge.jvm import start_jvm
from spark_connectors.read.local_segments import LoadedSegment
from spark_connectors.read.segment_files import SegmentFolder
from tests.contract.row_driver import build_by_pinot_alone, build_by_rows

_INPUT = "org.apache.pinot.plugin.inputformat."
_READERS = ("avro.Avro", "csv.CSV", "json.JSON", "parquet.Parquet")
_LOCAL = "org.apache.pinot.segment.local"
_LOADER = f"{_LOCAL}.segment.index.loader"
_COMMON = "org.apache.pinot.common.utils"
_SCHEMA = "org.apache.pinot.spi.data.Schema"
_TABLE_CONFIG = "org.apache.pinot.spi.config.table.TableConfig"


@contextmanager
def _limited(size_bytes: int | None) -> Iterator[None]:
    """Limit the size of files, to simulate a full disk in a process that may not mount one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if size_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _builder(request: dict[str, Any]) -> SegmentBuilder:
    limit = request.get("max_missing", "100%")
    rules = InputRules(
        request.get("encoding", "UTF-8"),
        None if limit is None else MissingLimit.parse(limit),
        time_zone=request.get("time_zone", "UTC"),
    )
    config, schema = request["table_config"], request["schema"]
    if request.get("models"):
        config, schema = TableConfig.from_json(config), Schema.from_json(schema)
    return SegmentBuilder(config, schema, Path(request["work_dir"]), request["reader"], rules)


def _build(request: dict[str, Any]) -> dict[str, Any]:
    builder = _builder(request)
    if request.get("arrow"):
        with pa.ipc.open_file(request["arrow"]) as file:
            built = builder.from_arrow(
                file.read_all(), request["name"], custom_metadata=request.get("custom")
            )
    else:
        built = builder.from_file(
            Path(request["path"]),
            FileFormat.parse(request["format"]),
            request["name"],
            reader_config=request.get("reader_config"),
            custom_metadata=request.get("custom"),
            folders=request.get("folders"),
        )
    return _reply(built, request)


def _build_by_rows(request: dict[str, Any]) -> dict[str, Any]:
    """Build from the rows of an Arrow file, one by one."""
    with pa.ipc.open_file(request["arrow"]) as file:
        rows = file.read_all()
    try:
        built = build_by_rows(
            request["table_config"], request["schema"], rows, request["name"], Path(request["work_dir"])
        )
    except JAVA_ERRORS as error:
        return {"error": "DataError", "message": root_causes(error)}
    return _reply(built, request)


def _build_alone(request: dict[str, Any]) -> dict[str, Any]:
    """Build with Pinot's own reader and conversions alone."""
    file_format = FileFormat.parse(request["format"])
    file = SourceFile(Path(request["path"]), file_format, request.get("reader_config"))
    try:
        built = build_by_pinot_alone(
            request["table_config"], request["schema"], file, request["name"], Path(request["work_dir"])
        )
    except JAVA_ERRORS as error:
        return {"error": "DataError", "message": root_causes(error)}
    return _reply(built, request)


def _build_files(request: dict[str, Any]) -> dict[str, Any]:
    """Build many files; the custom map of each segment names the files in it."""
    builder = _builder(request)
    with (
        mock.patch.object(column_file, "FULL_BYTES", request.get("arrow_rows_bytes", column_file.FULL_BYTES)),
        mock.patch.object(mapped_rows, "MAX_BYTES", request.get("mapped_rows_bytes", mapped_rows.MAX_BYTES)),
        mock.patch.object(mapped_rows, "FULL_BYTES", request.get("full_bytes", mapped_rows.FULL_BYTES)),
    ):
        built = builder.from_files(
            [Path(path) for path in request["paths"]],
            FileFormat.parse(request["format"]),
            lambda number: str(request["name"]).format(number),
            max_rows=request["max_rows"],
            reader_config=request.get("reader_config"),
            custom_metadata=lambda indexes: {"files": request.get("in_files") or "-".join(map(str, indexes))},
            folders=request.get("folders") or (),
        )
    failures = {
        index: {"error": type(error).__name__, "message": str(error)}
        for index, error in built.failures.items()
    }
    mismatches = {index: _mismatch(each) for index, each in built.mismatches.items()}
    segments = [_reply(each, request) for each in built.segments]
    return {"segments": segments, "failures": failures, "mismatches": mismatches}


def _mismatch(mismatch: ColumnMismatch) -> dict[str, Any]:
    return {"missing": mismatch.missing, "extra": mismatch.extra}


def _reply(built: BuiltSegment, request: dict[str, Any]) -> dict[str, Any]:
    work_dir = Path(request["work_dir"])
    reply = {key: getattr(built, key) for key in ("rows", "crc", "reader", "fallback_reason", "start_time")}
    reply |= {key: getattr(built, key) for key in ("end_time", "time_unit", "name", "segment_size_bytes")}
    reply |= {"tar": str(built.tar_path), "metadata_tar": str(built.metadata_tar_path)}
    reply["mismatch"] = _mismatch(built.mismatch)
    if request.get("unpack"):
        reply["folder"] = str(unpack_tar(built.tar_path, Path(request["unpack"]), built.name))
    if request.get("describe"):
        reply |= _described(*_unpacked(built.tar_path, work_dir / f"{built.name}.unpacked"))
    if request.get("read_back"):
        reply |= _read_back(built.tar_path, work_dir / f"{built.name}.unpacked")
    return reply


def _side_by_side(request: dict[str, Any]) -> dict[str, Any]:
    """Build the same segment in several threads, each in its own folder."""
    folders = [Path(request["work_dir"]) / f"thread{number}" for number in range(int(request["threads"]))]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(len(folders)) as pool:
        replies = list(pool.map(lambda folder: _build({**request, "work_dir": str(folder)}), folders))
    return {"crcs": [reply["crc"] for reply in replies]}


def _unpacked(tar: Path, folder: Path) -> tuple[Path, Any]:
    """Unpack a segment; return its folder and Pinot's metadata of it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    segment = unpack_tar(tar, folder, "segment")
    file = jpype.JClass("java.io.File")(str(segment))
    return segment, jpype.JClass("org.apache.pinot.segment.spi.index.metadata.SegmentMetadataImpl")(file)


def _read_back(tar: Path, folder: Path) -> dict[str, Any]:
    segment, metadata = _unpacked(tar, folder)
    file = jpype.JClass("java.io.File")(str(segment))
    loader = jpype.JClass("org.apache.pinot.segment.local.indexsegment.immutable.ImmutableSegmentLoader")
    loaded = loader.load(file, jpype.JClass("org.apache.pinot.spi.utils.ReadMode").mmap)  # as a server does
    rows_loaded = int(loaded.getSegmentMetadata().getTotalDocs())
    loaded.destroy()
    rows = rows_of(segment) if metadata.getTotalDocs() else []
    return {"read": rows, "rows_loaded": rows_loaded, **_described(segment, metadata)}


def _described(segment: Path, metadata: Any) -> dict[str, Any]:
    index_map = segment / "v3" / "index_map"
    return {
        "custom": {
            str(entry.getKey()): str(entry.getValue()) for entry in metadata.getCustomMap().entrySet()
        },
        "properties": (segment / "v3" / "metadata.properties").read_text(encoding="utf-8").splitlines(),
        "indexes": index_map.read_text(encoding="utf-8").splitlines() if index_map.exists() else [],
        "files": sorted(str(path.relative_to(segment)) for path in segment.rglob("*") if path.is_file()),
    }


def _read_folder(request: dict[str, Any]) -> dict[str, Any]:
    """Read a segment's index directory."""
    return {"read": rows_of(Path(request["folder"]))}


def _select(request: dict[str, Any]) -> dict[str, Any]:
    """Query a segment's folder as a Spark task does; bytes are returned as hexadecimal digits."""
    folder = SegmentFolder(Path(request["folder"]), request.get("crc"))
    rows: list[list[Any]] = []
    with LoadedSegment(folder, request["schema"]) as segment:
        for table in segment.select(request["sql"]):
            columns = [column.to_pylist() for column in table.columns]
            rows += [[_plain(value) for value in row] for row in zip(*columns, strict=True)]
    return {"rows": rows}


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _load(request: dict[str, Any]) -> dict[str, Any]:
    """Load a segment's folder as a server does, and pack it as a server's admin API does."""
    folder = jpype.JClass("java.io.File")(request["folder"])
    table_config = parse_table_config(request["table_config"])
    schema = parse_schema(request["schema"])
    config = _loading_config(table_config, schema, request["folder"])
    loader = jpype.JClass(f"{_LOCAL}.indexsegment.immutable.ImmutableSegmentLoader")
    if has_method(loader, "load", "java.io.File", f"{_LOADER}.IndexLoadingConfig", _SCHEMA):
        loader.load(folder, config, schema).destroy()
    else:
        loader.load(folder, config).destroy()  # since 1.4 the config has the schema
    tar = jpype.JClass("java.io.File")(request["tar"])
    if has_class(f"{_COMMON}.TarCompressionUtils"):
        jpype.JClass(f"{_COMMON}.TarCompressionUtils").createCompressedTarFile(folder, tar)
    else:
        jpype.JClass(f"{_COMMON}.TarGzCompressionUtils").createTarGzFile(folder, tar)  # until 1.1
    sums = jpype.JClass(f"{_LOCAL}.utils.CrcUtils")
    if has_method(sums, "computeCrc", "java.io.File"):
        return {"crc": int(sums.computeCrc(folder))}
    return {"crc": int(sums.forAllFilesInFolder(folder).computeCrc())}  # until 1.4


def _loading_config(table_config: Any, schema: Any, folder: str) -> Any:
    loading_config = jpype.JClass(f"{_LOADER}.IndexLoadingConfig")
    if has_constructor(loading_config, _TABLE_CONFIG, _SCHEMA):
        config = loading_config(table_config, schema)
        config.setReadMode(jpype.JClass("org.apache.pinot.spi.utils.ReadMode").mmap)
        return config
    properties = {"id": "x", "dataDir": folder, "segmentTarDir": folder, "readMode": "mmap"}
    server = jpype.JClass("org.apache.pinot.server.starter.helix.HelixInstanceDataManagerConfig")(
        jpype.JClass("org.apache.pinot.spi.env.PinotConfiguration")(
            jpype.JClass("java.util.HashMap")(properties)
        )
    )
    return loading_config(server, table_config)


def rows_of(segment: Path) -> list[dict[str, Any]]:
    """Return the rows of a segment's folder."""
    reader = jpype.JClass("org.apache.pinot.segment.local.segment.readers.PinotSegmentRecordReader")()
    reader.init(jpype.JClass("java.io.File")(str(segment)), None, None, True)
    rows = []
    while reader.hasNext():
        values = reader.next().getFieldToValueMap()
        rows.append({str(entry.getKey()): _value(entry.getValue()) for entry in values.entrySet()})
    reader.close()
    return rows


def _value(value: Any) -> Any:
    """Return the value with its Java type where JSON would lose it."""
    if value is None:
        return None
    if isinstance(value, jpype.JArray):
        if str(value.getClass().getName()) == "[B":
            return {"bytes": bytes(value).hex()}
        return [_value(each) for each in value]
    kind = str(value.getClass().getSimpleName())
    if kind in {"Integer", "Long"}:
        return int(value)
    if kind in {"Float", "Double"}:
        return {kind.lower(): repr(float(value))}
    return {"decimal": str(value.toString())} if kind == "BigDecimal" else str(value)


def _features(_: dict[str, Any]) -> dict[str, Any]:
    """Return the features of this process's Pinot."""
    return {
        "avro_logical_types": applies_logical_types_by_default(),
        "data_crc": has_method(jpype.JClass(f"{_LOCAL}.utils.CrcUtils"), "computeDataCrc"),
        "is_pinot_1": is_pinot_1(),
        "keeps_source_types": keeps_source_types(),
        "special_values": replaces_special_values(),
        "column_nulls": has_method(jpype.JClass(_SCHEMA), "isEnableColumnBasedNullHandling"),
        "reads_files": all(has_class(f"{_INPUT}{reader}RecordReader") for reader in _READERS),
    }


def _box_longs(request: dict[str, Any]) -> dict[str, Any]:
    """Send longs through JPype's boxing and back and count those that changed."""
    count, start = int(request["count"]), int(request["start"])
    box = jpype.JClass("java.lang.Long")
    boxes = jpype.JClass("java.util.ArrayList")(1024)
    wrong = 0
    for chunk in range(start, start + count, 1024):
        boxes.clear()
        for value in range(chunk, chunk + 1024):
            boxes.add(box(jpype.JLong(value)))
        wrong += sum(int(boxes.get(place)) != chunk + place for place in range(1024))
    return {"wrong": wrong}


def _call(request: dict[str, Any]) -> dict[str, Any]:
    """Call a function of another module of these tests."""
    function = getattr(importlib.import_module(request["module"]), request["function"])
    return {"result": function(*request["arguments"])}


def main() -> None:
    """Answer requests until the input ends."""
    start_jvm(max_heap_mb=384)
    actions = {
        "build": _build,
        "build_alone": _build_alone,
        "build_by_rows": _build_by_rows,
        "build_files": _build_files,
        "box_longs": _box_longs,
        "side_by_side": _side_by_side,
        "read_folder": _read_folder,
        "load": _load,
        "features": _features,
        "select": _select,
        "call": _call,
    }
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with _limited(request.get("largest_file_bytes")):
                reply = actions[request["action"]](request)
        except PinotPluginError as error:
            reply = {"error": type(error).__name__, "message": str(error)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
