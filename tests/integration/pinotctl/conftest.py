"""pinotctl in this process, and the files of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

from pinotctl.root import cli
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.offline_tables import offline_table
from tests.support.segments import build_segments

__all__ = ["SEGMENTS", "Numbers", "Run", "built_numbers"]

SEGMENTS = ["numbers_0", "numbers_1"]

_FIELDS = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}],
    "metricFieldSpecs": [{"name": "amount", "dataType": "DOUBLE"}],
}


@dataclass(frozen=True)
class Run:
    """Runs pinotctl in this process, against the cluster of the tests."""

    controller_url: str

    def __call__(self, *words: object, code: int = 0, stdin: str | None = None, **env: str) -> Result:
        env = {"PINOT_CONTROLLER_URL": self.controller_url, "PINOTCTL_CONFIG": "/no/such/file", **env}
        result = CliRunner().invoke(cli, [str(each) for each in words], env=env, input=stdin)
        assert result.exit_code == code, (words, result.output)
        return result

    def read(self, *words: object, **more: Any) -> Any:
        """Return the JSON document that a command writes."""
        return json.loads(self(*words, "--output", "json", **more).stdout)

    def error(self, *words: object, code: int = 1, **more: Any) -> str:
        """Return what a command that fails writes to stderr."""
        return self(*words, code=code, **more).stderr


@dataclass(frozen=True)
class Numbers:
    """The files of a table that does not exist yet."""

    name: str
    schema_file: Path
    table_file: Path

    @property
    def table(self) -> str:
        return f"{self.name}_OFFLINE"


def built_numbers(folder: Path, *counts: int) -> list[Path]:
    """Build ``SEGMENTS`` with these numbers of rows in a child process; they fit each table of numbers."""
    rows = {
        name: [{"id": 3 * number + i, "amount": i / 2} for i in range(count)]
        for number, (name, count) in enumerate(zip(SEGMENTS, counts, strict=False))
    }
    built = build_segments(folder, {"schemaName": "built", **_FIELDS}, offline_table("built"), rows)
    return [segment.tar for segment in built]


@pytest.fixture(scope="session")
def run(pinot: PinotCluster) -> Run:
    return Run(pinot.controller_url)


@pytest.fixture(scope="session")
def tars(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two segments with three rows each."""
    return built_numbers(tmp_path_factory.mktemp("segments"), 3, 3)


@pytest.fixture(scope="module")
def numbers(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbers]:
    folder, name = tmp_path_factory.mktemp("numbers"), f"t_{uuid4().hex[:12]}"
    made = Numbers(name, folder / "schema.json", folder / "table.json")
    made.schema_file.write_text(json.dumps({"schemaName": name, **_FIELDS}))
    made.table_file.write_text(json.dumps(offline_table(name)))
    yield made
    with pinot.client() as client:
        drop(client, name)
