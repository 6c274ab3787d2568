"""Pinot's own loader changes a segment's files; a copy from a server can still be verified."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from controller_client.segment_tar import (
    ExpectedSegment,
    Proof,
    TarLimits,
    content_crc,
    judge_copy,
    repack,
    unpack_tar,
)
from controller_client.segment_tar.content import read_content
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = [pytest.mark.jvm, pytest.mark.every_pinot]

LIMITS = TarLimits()
ROWS = 60
START_MS = 1_700_000_000_000
TABLE = pa.table(
    {
        "a": [None if row % 5 == 0 else f"v{row % 7}" for row in range(ROWS)],
        "a.b": [f"w{row % 3}" for row in range(ROWS)],
        "b": pa.array(range(ROWS), pa.int32()),
        "m": pa.array([[row, row + 1] for row in range(ROWS)], pa.list_(pa.int32())),
        "x": pa.array(range(ROWS), pa.int64()),
        "ts": pa.array(range(START_MS, START_MS + ROWS), pa.int64()),
    }
)
TIME = {"ts": "1:MILLISECONDS:EPOCH"}
SCHEMA = schema_of(
    {"a": "STRING", "a.b": "STRING", "b": "INT"}, multi_values={"m": "INT"}, metrics={"x": "LONG"}, times=TIME
)
MORE_COLUMNS = schema_of(
    {"a": "STRING", "a.b": "STRING", "b": "INT", "c": "STRING"},
    multi_values={"m": "INT"},
    metrics={"x": "LONG", "y": "DOUBLE"},
    times={**TIME, "day": "1:DAYS:EPOCH"},
)


def config(**indexing: Any) -> dict[str, Any]:
    fields = indexing.pop("fields", None)
    more = {"fieldConfigList": fields} if fields else {}
    return table_config(time_column="ts", indexing=indexing, **more)


PLAIN = config()
INDEXES = {"invertedIndexColumns": ["a", "m"], "rangeIndexColumns": ["b"]}
INDEXED = config(**INDEXES)
MORE_INDEXES = config(**INDEXES, bloomFilterColumns=["a"])
BUILT_INDEXED = config(**INDEXES, createInvertedIndexDuringSegmentGeneration=True)
RAW = config(noDictionaryColumns=["a"])
TEXT = config(noDictionaryColumns=["a"], fields=[{"name": "a", "encodingType": "RAW", "indexType": "TEXT"}])
STAR_TREE = config(
    starTreeIndexConfigs=[
        {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["SUM__x"], "maxLeafRecords": 10}
    ],
    enableDynamicStarTreeCreation=True,
)
VERSION_1 = {"segmentFormatVersion": "v1"}

Step = tuple[Mapping[str, Any], Mapping[str, Any]]
CONTENT = Proof.CONTENT

# Verified by the checksum of all files, or else by that of the data, if Pinot writes one.
CHANGES: dict[str, tuple[Mapping[str, Any], Sequence[Step], Proof | None]] = {
    "nothing": (PLAIN, [(PLAIN, SCHEMA)], CONTENT),
    "indexes that are not built with the segment": (INDEXED, [(INDEXED, SCHEMA)], CONTENT),
    "indexes that are": (BUILT_INDEXED, [(BUILT_INDEXED, SCHEMA)], CONTENT),
    "more indexes": (BUILT_INDEXED, [(MORE_INDEXES, SCHEMA)], CONTENT),
    "an index added and removed": (BUILT_INDEXED, [(MORE_INDEXES, SCHEMA), (INDEXED, SCHEMA)], CONTENT),
    "new columns": (PLAIN, [(PLAIN, MORE_COLUMNS)], CONTENT),
    "new columns, then indexes": (PLAIN, [(PLAIN, MORE_COLUMNS), (INDEXED, MORE_COLUMNS)], CONTENT),
    "new columns, then they go": (PLAIN, [(INDEXED, MORE_COLUMNS), (PLAIN, SCHEMA)], CONTENT),
    "a text index": (TEXT, [(TEXT, SCHEMA)], CONTENT),
    "a text index later": (RAW, [(TEXT, SCHEMA)], CONTENT),
    "a star-tree": (STAR_TREE, [(STAR_TREE, SCHEMA)], CONTENT),
    "a star-tree later": (PLAIN, [(STAR_TREE, MORE_COLUMNS)], CONTENT),
    "version 1 with indexes later": (
        config(**VERSION_1),
        [(config(**VERSION_1, **INDEXES), SCHEMA)],
        CONTENT,
    ),
    # These change the committed data.
    "a built index removed": (BUILT_INDEXED, [(PLAIN, SCHEMA)], None),
    "version 1 to version 3": (config(**VERSION_1), [(config(segmentFormatVersion="v3"), SCHEMA)], None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_that_a_server_has_changed(child: SegmentChild, tmp_path: Path, change: str) -> None:
    build, steps, proof = CHANGES[change]
    built = child.build(build, SCHEMA, TABLE, "auto", name="seg")
    original = Path(shutil.copy(built["tar"], tmp_path / "built.tar.gz"))
    data_crc = read_content(original, LIMITS).label.data_crc
    assert (data_crc is not None) is child.features["data_crc"]
    expected = ExpectedSegment("seg", built["crc"], data_crc)
    assert content_crc(original, LIMITS) == built["crc"]
    folder = unpack_tar(original, tmp_path, "seg")
    for number, (loaded_with, schema) in enumerate(steps):
        tar = tmp_path / f"{number}.tar.gz"
        request = {"folder": str(folder), "table_config": loaded_with, "schema": schema, "tar": str(tar)}
        loaded = child.ask({"action": "load", **request})
        # Pinot's own checksum of its own packing.
        assert content_crc(tar, LIMITS) == loaded["crc"]
    verdict = judge_copy(tar, expected, LIMITS)
    assert verdict.proof is (Proof.DATA if proof is None and data_crc is not None else proof)
    if verdict.proof is not Proof.CONTENT:
        return
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    assert content_crc(tar, LIMITS) == built["crc"]
    again = tmp_path / "again"
    again.mkdir()
    rows = child.ask({"action": "read_folder", "folder": str(unpack_tar(tar, again, "seg"))})["read"]
    assert len(rows) == ROWS
    before = tmp_path / "before"
    before.mkdir()
    assert (
        rows
        == child.ask({"action": "read_folder", "folder": str(unpack_tar(original, before, "seg"))})["read"]
    )


def test_the_order_of_many_columns_is_found_again(child: SegmentChild, tmp_path: Path) -> None:
    """A reload that removes an index sorts columns.psf, which 0.11.0 writes in the order of a HashMap."""
    names = [f"{letter}{number}" for letter in ("a", "Name", "B_") for number in range(20)]
    schema = schema_of(dict.fromkeys(names, "INT"))
    # Not sorted: a sorted column gets no inverted index.
    table = pa.table(dict.fromkeys(names, pa.array([3, 1, 4, 0, 2], pa.int32())))
    plain, indexed = table_config(), table_config(indexing={"invertedIndexColumns": names[:3]})
    built = child.build(plain, schema, table, "auto", name="seg", read_back=True)
    written = list(dict.fromkeys(line.partition(".")[0] for line in built["indexes"]))
    assert len(written) == len(names)
    folder = unpack_tar(Path(built["tar"]), tmp_path, "seg")
    tar = tmp_path / "s.tar.gz"
    for loaded_with in (indexed, plain):
        request = {"folder": str(folder), "table_config": loaded_with, "schema": schema, "tar": str(tar)}
        child.ask({"action": "load", **request})
    assert (content_crc(tar, LIMITS) == built["crc"]) is (written == sorted(written))
    assert judge_copy(tar, ExpectedSegment("seg", built["crc"]), LIMITS).proof is Proof.CONTENT
