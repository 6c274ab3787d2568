"""Segments built by one version of Pinot load in another if possible; otherwise the error names both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import table_config
from tests.contract.test_local_segments import ROWS, SCHEMA, TYPES, WANTED, select
from tests.support.pinned_pinot import home_variables
from tests.support.tiers import FULL

pytestmark = [pytest.mark.jvm, FULL]

INDEXES: dict[str, dict[str, Any]] = {
    "coded": {},
    "indexed": {
        "invertedIndexColumns": ["s", "mi"],
        "createInvertedIndexDuringSegmentGeneration": True,
        "rangeIndexColumns": ["i"],
        "bloomFilterColumns": ["s"],
    },
    "raw": {"noDictionaryColumns": ["i", "l", "d", "s", "j", "b", "big", "mi", "ms"]},
}
SQL = f"SELECT {', '.join(TYPES.names)} FROM t LIMIT {ROWS}"


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    variables = home_variables("1.5.1", tmp_path_factory.mktemp("jars"))
    with SegmentChild(tmp_path_factory.mktemp("newer"), variables) as running:
        yield running


def built_by(child: SegmentChild, folder: Path, name: str) -> Path:
    table = pa.Table.from_pylist(WANTED, schema=TYPES)
    config = table_config(indexing=INDEXES[name])
    return Path(child.build(config, SCHEMA, table, "auto", name=name, unpack=str(folder))["folder"])


@pytest.mark.parametrize("name", INDEXES)
def test_newer_jars_load_what_older_ones_built(
    child: SegmentChild, newer: SegmentChild, tmp_path: Path, name: str
) -> None:
    folder = built_by(child, tmp_path, name)
    rows = select(child, folder, SQL)
    assert len(rows) == ROWS
    assert select(newer, folder, SQL) == rows
    config = table_config(indexing=INDEXES[name])
    request = {"folder": str(folder), "table_config": config, "schema": SCHEMA}
    newer.ask({"action": "load", **request, "tar": str(tmp_path / "loaded.tar.gz")})  # as a server does
    assert select(newer, folder, SQL) == rows


@pytest.mark.parametrize("name", ["coded", "indexed"])
def test_older_jars_load_what_newer_ones_built(
    child: SegmentChild, newer: SegmentChild, tmp_path: Path, name: str
) -> None:
    folder = built_by(newer, tmp_path, name)
    rows = select(newer, folder, SQL)
    assert len(rows) == ROWS
    assert select(child, folder, SQL) == rows


def test_raw_columns_have_another_format_in_newer_versions(
    child: SegmentChild, newer: SegmentChild, tmp_path: Path
) -> None:
    refused = select(child, built_by(newer, tmp_path, "raw"), SQL)
    assert refused["error"] == "SetupError"
    assert "pins pinot-0.11.0" in refused["message"]
    assert "cannot load segment raw: IllegalArgumentException: newPosition > limit" in refused["message"]
    assert "set PINOT_HOME to a Pinot distribution of the cluster's version" in refused["message"]
