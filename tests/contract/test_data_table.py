"""Python reads DataTables written by Pinot's own builders, in each version that servers send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jpype
import pytest

from controller_client.errors import PinotPluginError
from jvm_bridge.builder.pinot_classes import has_class, java_class
from spark_connectors.read.data_table import decode
from tests.contract.segment_child import SegmentChild
from tests.support.needs import Need, inside

pytestmark = pytest.mark.jvm

VERSIONS = (3, 4)

_PACKAGE = "org.apache.pinot.core.common.datatable."
_WITH_VERSION_3 = _PACKAGE + "DataTableBuilderV2V3"

# Column type -> the values of two rows, as read.
ROWS: Mapping[str, tuple[Any, Any]] = {
    "INT": (-(2**31), 7),
    "LONG": (2**63 - 1, -7),
    "FLOAT": (1.5, -float("inf")),
    "DOUBLE": (0.1, float("inf")),
    "BOOLEAN": (True, False),
    "TIMESTAMP": (1_700_000_000_123, -1),
    "STRING": ("ü\u0000 and more", ""),
    "JSON": ('{"a":1}', "null"),
    "BYTES": (b"\x00\xff", b""),
    "BIG_DECIMAL": ("-12345678901234567890.000000000000000000012", "1200"),
    "INT_ARRAY": ([1, -2, 3], []),
    "LONG_ARRAY": ([2**62], [5, 6]),
    "FLOAT_ARRAY": ([0.25], [0.5, -1.0]),
    "DOUBLE_ARRAY": ([], [0.1, 0.2]),
    "STRING_ARRAY": (["x", "", "x"], ["ü"]),
}


@pytest.fixture(scope="module")
def folder(child: SegmentChild, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    child.call(write_tables, str(folder))
    assert (folder / f"rows-{VERSIONS[-1]}").exists()
    return folder


# Pinot 1.x no longer writes version 3.
_WRITTEN = [pytest.param(each, marks=inside(Need.DATA_TABLE_3) if each == 3 else ()) for each in VERSIONS]


@pytest.mark.parametrize("version", _WRITTEN)
def test_values_of_all_types(folder: Path, version: int) -> None:
    table = decode((folder / f"rows-{version}").read_bytes())
    found = {kind: tuple(column.to_pylist()) for kind, column in zip(ROWS, table.columns, strict=True)}
    assert found == ROWS
    assert table.rows == 2


@pytest.mark.parametrize("version", _WRITTEN)
def test_exceptions_and_metadata(folder: Path, version: int) -> None:
    table = decode((folder / f"metadata-{version}").read_bytes())
    assert table.rows == 0
    assert table.exceptions == {235: "1 segments [s] missing"}
    assert table.metadata == {"numSegmentsQueried": 3, "numDocsScanned": 5_000_000_000}


@pytest.mark.parametrize("version", _WRITTEN)
def test_a_table_that_is_cut_short_is_an_error(folder: Path, version: int) -> None:
    payload = (folder / f"rows-{version}").read_bytes()
    for length in range(0, len(payload), 7):
        with pytest.raises(PinotPluginError, match="cannot be decoded"):
            decode(payload[:length])


def write_tables(folder: str) -> None:
    """In the child: write two tables in each version that Pinot supports; one has exceptions and metadata."""
    with_version_3 = has_class(_WITH_VERSION_3)
    factory = java_class(_PACKAGE + ("DataTableFactory" if with_version_3 else "DataTableBuilderFactory"))
    data_schema = jpype.JClass("org.apache.pinot.common.utils.DataSchema")
    kinds = jpype.JClass("org.apache.pinot.common.utils.DataSchema$ColumnDataType")
    types = list(ROWS)
    schema = data_schema(
        jpype.JString[:]([f"c_{kind}" for kind in types]), kinds[:]([kinds.valueOf(kind) for kind in types])
    )
    usual = factory.getDataTableVersion()
    for version in VERSIONS if with_version_3 else VERSIONS[1:]:
        factory.setDataTableVersion(version)
        builder = factory.getDataTableBuilder(schema)
        for row in range(2):
            builder.startRow()
            for number, kind in enumerate(types):
                _set(builder, number, _TO_JAVA[kind](ROWS[kind][row]))
            builder.finishRow()
        _write(builder.build(), Path(folder, f"rows-{version}"))
        table = factory.getEmptyDataTable()
        table.addException(235, "1 segments [s] missing")
        table.getMetadata().put("numSegmentsQueried", "3")
        table.getMetadata().put("numDocsScanned", "5000000000")
        table.getMetadata().put("traceInfo", "ü")
        _write(table, Path(folder, f"metadata-{version}"))
    factory.setDataTableVersion(usual)


def _write(table: Any, path: Path) -> None:
    path.write_bytes(memoryview(table.toBytes()).tobytes())


def _set(builder: Any, number: int, value: Any) -> None:
    """Call the ``setColumn`` for exactly the value's type: by name, the one for objects would match too."""
    primitive = {"JInt": "Integer", "JLong": "Long", "JFloat": "Float", "JDouble": "Double"}.get(
        type(value).__name__
    )
    if primitive is None:
        builder.setColumn(number, value)
        return
    boxed = jpype.JClass(f"java.lang.{primitive}")
    integer = jpype.JClass("java.lang.Integer")
    method = builder.getClass().getMethod("setColumn", integer.TYPE, boxed.TYPE)
    method.invoke(builder, integer(number), boxed(value))


def _byte_array(value: bytes) -> Any:
    signed = [each - 256 if each > 127 else each for each in value]
    return jpype.JClass("org.apache.pinot.spi.utils.ByteArray")(jpype.JByte[:](signed))


_TO_JAVA: Mapping[str, Callable[[Any], Any]] = {
    "INT": lambda value: jpype.JInt(value),
    "LONG": lambda value: jpype.JLong(value),
    "FLOAT": lambda value: jpype.JFloat(value),
    "DOUBLE": lambda value: jpype.JDouble(value),
    "BOOLEAN": lambda value: jpype.JInt(int(value)),
    "TIMESTAMP": lambda value: jpype.JLong(value),
    "STRING": lambda value: jpype.JString(value),
    "JSON": lambda value: jpype.JString(value),
    "BYTES": _byte_array,
    "BIG_DECIMAL": lambda value: jpype.JClass("java.math.BigDecimal")(
        "1.2E+3" if value == "1200" else value  # a scale below zero
    ),
    "INT_ARRAY": lambda value: jpype.JInt[:](value),
    "LONG_ARRAY": lambda value: jpype.JLong[:](value),
    "FLOAT_ARRAY": lambda value: jpype.JFloat[:](value),
    "DOUBLE_ARRAY": lambda value: jpype.JDouble[:](value),
    "STRING_ARRAY": lambda value: jpype.JString[:](value),
}
