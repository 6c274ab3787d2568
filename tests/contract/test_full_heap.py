"""A heap too small for a segment: the error reports it, blames no file, and the process continues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

_HEAP_MIB = 64
_SCHEMA = schema_of({"text": "STRING"})
_CONFIG = table_config()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    """A child with a small heap."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PINOT_PLUGINS_JAVA_OPTS", f"-Xmx{_HEAP_MIB}m")
        with SegmentChild(tmp_path_factory.mktemp("small")) as running:
            assert running.features  # it is started while the variable is set
            yield running


def _texts(first: int, count: int) -> pa.Table:
    return pa.table({"text": [f"{number:0100d}" for number in range(first, first + count)]})


@pytest.mark.parametrize("reader", ["arrow", "auto", "pinot"])
def test_it_is_no_files_fault(small: SegmentChild, tmp_path: Path, reader: str) -> None:
    if reader == "pinot":
        small.require_reader(tmp_path / "0.parquet")
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for number, path in enumerate(paths):
        pq.write_table(_texts(number * 250_000, 250_000), path)
    replies = [
        small.build(_CONFIG, _SCHEMA, _texts(0, 500_000), reader),
        small.build(_CONFIG, _SCHEMA, paths[0], reader),
        small.build_files(_CONFIG, _SCHEMA, paths, reader),
    ]
    for reply in replies:
        assert reply.get("error") == "HeapFullError", reply
        assert f"heap of {_HEAP_MIB} MiB was full" in reply["message"]
        assert "--max-heap-mb" in reply["message"]
        assert "--concurrency" in reply["message"]
        assert "maxNumRecordsPerSegment" in reply["message"]


def test_smaller_segments_fit(small: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(_texts(0, 250_000), path)
    assert small.build_files(_CONFIG, _SCHEMA, [path], "arrow")["error"] == "HeapFullError"
    built = small.build_files(_CONFIG, _SCHEMA, [path], "arrow", max_rows=50_000)
    assert [segment["rows"] for segment in built["segments"]] == [50_000] * 5
