"""A heap too small for a segment: the error reports it, blames no file, and the next segments are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config
from tests.support.tiers import FULL

pytestmark = pytest.mark.jvm

_HEAP_MIB = 64
_COUNTED_MIB = 61  # the serial collector does not count one of its survivor spaces
_ROWS, _FEWER_ROWS = 60_000, 12_000  # of 30 MB and 6 MB
_SCHEMA = schema_of({"text": "STRING"})
_CONFIG = table_config()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    """A child with a small heap, which its collector compacts."""
    variables = {"PINOT_PLUGINS_JAVA_OPTS": f"-Xmx{_HEAP_MIB}m -XX:+UseSerialGC"}
    with SegmentChild(tmp_path_factory.mktemp("small"), variables) as running:
        yield running


def _texts(first: int, count: int) -> pa.Table:
    return pa.table({"text": [f"{number:0500d}" for number in range(first, first + count)]})


@pytest.mark.parametrize("reader", ["arrow", pytest.param("auto", marks=FULL), "pinot"])
def test_it_is_no_files_fault(small: SegmentChild, tmp_path: Path, reader: str) -> None:
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for number, path in enumerate(paths):
        pq.write_table(_texts(number * _ROWS, _ROWS), path)
    fewer = _texts(0, _FEWER_ROWS)
    builds: tuple[Callable[[], dict[str, Any]], ...] = (
        lambda: small.build(_CONFIG, _SCHEMA, _texts(0, _ROWS), reader),
        lambda: small.build(_CONFIG, _SCHEMA, paths[0], reader),
        lambda: small.build_files(_CONFIG, _SCHEMA, paths, reader),
    )
    for build in builds:
        refused = build()
        assert refused.get("error") == "HeapFullError", refused
        assert f"heap of {_COUNTED_MIB} MiB was full" in refused["message"]
        assert "--max-heap-mb" in refused["message"]
        assert "--concurrency" in refused["message"]
        assert "maxNumRecordsPerSegment" in refused["message"]
        # The failed build keeps nothing in the heap.
        assert small.build(_CONFIG, _SCHEMA, fewer, "arrow").get("rows") == _FEWER_ROWS


def test_smaller_segments_fit(small: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(_texts(0, _ROWS), path)
    built = small.build_files(_CONFIG, _SCHEMA, [path], "arrow", max_rows=_FEWER_ROWS)
    assert [segment["rows"] for segment in built["segments"]] == [_FEWER_ROWS] * 5
