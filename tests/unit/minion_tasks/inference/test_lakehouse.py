"""Tables that follow Iceberg and Delta tables: guessed from their data files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from controller_client.as_code.files import read_folder
from controller_client.errors import ConfigError, SourceError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.inference.folder import write_proposal
from minion_tasks.inference.lakehouse import propose_following, table_name_of_lakehouse
from minion_tasks.inference.proposal import Proposal
from pinotctl.root import cli

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "city": ["Oslo", None, "Ulm"],
        "placed": pa.array([dt.datetime(2026, 11, day, tzinfo=dt.UTC) for day in (1, 2, 3)]),
    }
)
NAME = table_name_of_lakehouse("iceberg://lake/shop.orders")


def in_delta(folder: Path) -> tuple[str, str, Mapping[str, str]]:
    write_deltalake(str(folder / "orders"), ROWS)
    return f"file://{folder}/orders", "delta", {}


def in_iceberg(folder: Path) -> tuple[str, str, Mapping[str, str]]:
    catalog = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    made = SqlCatalog("lake", **catalog)
    made.create_namespace("shop")
    made.create_table("shop.orders", ROWS.schema).append(ROWS)
    properties = {"type": "sql", **catalog}
    return (
        "iceberg://lake/shop.orders",
        "iceberg",
        {f"input.fs.prop.{name}": value for name, value in properties.items()},
    )


def task_of(proposal: Proposal) -> dict[str, str]:
    task: dict[str, str] = proposal.table["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    return task


@pytest.mark.parametrize("make", [in_delta, in_iceberg])
def test_a_table_that_follows_another(make: object, tmp_path: Path) -> None:
    uri, table_format, configs = make(tmp_path)  # type: ignore[operator]
    proposal = propose_following(NAME, uri, table_format, configs)
    types = {guess.name: guess.data_type for guess in proposal.columns}
    assert types == {"id": "LONG", "city": "STRING", "placed": "TIMESTAMP"}
    assert proposal.table["segmentsConfig"]["timeColumnName"] == "placed"
    task = task_of(proposal)
    assert (task["inputDirURI"], task["inputFormat"], task["enableSync"]) == (uri, table_format, "true")
    params = FileIngestionParams.from_configs(task)
    assert len(list(params.stores.source.list(None).files)) == 1
    assert "3 rows of 1 data file" in proposal.notes[0]
    write_proposal(tmp_path / "cluster", proposal)
    assert len(read_folder(tmp_path / "cluster").documents) == 2


def test_parameters_of_the_user_win(tmp_path: Path) -> None:
    uri, table_format, _ = in_delta(tmp_path)
    more = {"enableSync": "false", "sourceVersion": "id:0", "keepVersions": "3"}
    assert task_of(propose_following(NAME, uri, table_format, more)).items() >= more.items()
    with pytest.raises(ConfigError, match="unknown parameter"):
        propose_following(NAME, uri, table_format, {"x": "1"})
    with pytest.raises(SourceError, match="there is no Delta table"):
        propose_following(NAME, f"{uri}/none", table_format, {})


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("iceberg://lake/shop.orders", "orders_OFFLINE"),
        ("s3://bucket/lake/my-orders/", "my_orders_OFFLINE"),
        ("file:///data/...", "table_OFFLINE"),
    ],
)
def test_the_name_of_the_table(uri: str, name: str) -> None:
    assert table_name_of_lakehouse(uri) == name


def test_the_command_takes_a_folder_an_address_and_settings(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["table", "infer", *arguments, "--to", str(tmp_path / "cluster")])
        return f"{result.exit_code} {result.output}"

    in_delta(tmp_path)
    uri, _, configs = in_iceberg(tmp_path)
    settings = [word for key, value in configs.items() for word in ("--set", f"{key}={value}")]
    assert "0 column" in run(str(tmp_path / "orders"), "--name", "a", "--set", "keepVersions=3")
    assert "0 column" in run(uri, *settings, "--name", "b")
    documents = read_folder(tmp_path / "cluster").documents
    assert sorted(str(ref) for ref in documents if "table" in str(ref)) == [
        "table a_OFFLINE",
        "table b_OFFLINE",
    ]
    assert "one address" in run(uri, uri)
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert "files, or one address" in run(str(tmp_path / "a.csv"), uri)
    assert "--set is for Iceberg and Delta tables" in run(str(tmp_path / "a.csv"), "--set", "x=1")
    assert "does not exist" in run(str(tmp_path / "none"))
    assert "is a directory" in run(str(tmp_path))
