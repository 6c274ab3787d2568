"""Python reads DataTables written by Pinot's own builders, in each version that servers send."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from controller_client.errors import PinotPluginError
from spark_connectors.read.data_table import decode
from tests.contract.data_table_program import ROWS, VERSIONS
from tests.support.needs import Need, inside

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    subprocess.run([sys.executable, "-m", "tests.contract.data_table_program", str(folder)], check=True)
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
