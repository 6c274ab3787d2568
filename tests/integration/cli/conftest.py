"""Fixtures that run pinotctl against the cluster."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

from controller_client.cli import cli
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.segments import build_segments

Run = Callable[..., Result]


@dataclass(frozen=True)
class Numbers:
    """The files of a table that does not exist yet, and two of its segments with three rows each."""

    name: str
    schema_file: Path
    table_file: Path
    tars: tuple[Path, ...]
    many: Path
    """Another segment, with 60,000 rows, for queries that take some time and read it block by block."""

    @property
    def segments(self) -> list[str]:
        return [f"{self.name}_0", f"{self.name}_1"]


@pytest.fixture(scope="module")
def run(pinot: PinotCluster) -> Run:
    def invoke(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
        env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}
        result = CliRunner().invoke(cli, [str(each) for each in arguments], env=env, input=stdin)
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture(scope="module")
def numbers(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbers]:
    folder = tmp_path_factory.mktemp("numbers")
    name = f"t_{uuid4().hex[:12]}"
    schema = {
        "schemaName": name,
        "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}],
        "metricFieldSpecs": [{"name": "amount", "dataType": "DOUBLE"}],
    }
    table = offline_table(name)
    schema_file, table_file = folder / "schema.json", folder / "table.json"
    schema_file.write_text(json.dumps(schema))
    table_file.write_text(json.dumps(table))
    counts = (3, 3, 60_000)
    rows = {
        f"{name}_{number}": [{"id": 3 * number + i, "amount": i / 2} for i in range(count)]
        for number, count in enumerate(counts)
    }
    *tars, many = (segment.tar for segment in build_segments(folder, schema, table, rows))
    yield Numbers(name, schema_file, table_file, tuple(tars), many)
    CliRunner().invoke(cli, ["table", "delete", name, "--yes"])
