"""Python reads DataTables written by Pinot's own builders, in each version that servers send."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from controller_client.errors import PinotPluginError
from spark_connectors.read.data_table import decode
from tests.contract.data_table_program import ROWS, VERSIONS
from tests.support.needs import lacks

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    subprocess.run([sys.executable, "-m", "tests.contract.data_table_program", str(folder)], check=True)
    assert (folder / f"rows-{VERSIONS[-1]}").exists()
    return folder


@pytest.fixture
def written(folder: Path, version: int) -> Path:
    if not (folder / f"rows-{version}").exists():
        lacks(f"DataTables of version {version}")
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_values_of_all_types(written: Path, version: int) -> None:
    table = decode((written / f"rows-{version}").read_bytes())
    found = {kind: tuple(column.to_pylist()) for kind, column in zip(ROWS, table.columns, strict=True)}
    assert found == ROWS
    assert table.rows == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_exceptions_and_metadata(written: Path, version: int) -> None:
    table = decode((written / f"metadata-{version}").read_bytes())
    assert table.rows == 0
    assert table.exceptions == {235: "1 segments [s] missing"}
    assert table.metadata == {"numSegmentsQueried": 3, "numDocsScanned": 5_000_000_000}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_table_that_is_cut_short_is_an_error(written: Path, version: int) -> None:
    payload = (written / f"rows-{version}").read_bytes()
    for length in range(0, len(payload), 7):
        with pytest.raises(PinotPluginError, match="cannot be decoded"):
            decode(payload[:length])
