"""A table on a cluster returns to versions whose segments Pinot has deleted, in one step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller_client.rest.capabilities import Capability
from tests.integration.file_ingestion.ingestion import (
    IngestionTable,
    Pinotctl,
    ended,
    invoke,
    start_pinotctl,
    write_numbers,
)
from tests.support.needs import has
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

SWAP = {"consistentPushSwapEnabled": "true"}
SYNC = {"enableSync": "true"}
AT_ONCE = {"replacedSegmentsRetentionPeriod": "0s", "keepVersions": "4"}
ROWS = {"first": (100, sum(range(100))), "second": (90, sum(range(10, 100))), "third": (10, sum(range(10)))}
"""Rows and sum of the ids of each version."""


def write_version(folder: Path, version: str) -> None:
    """Change one of two files, or delete it."""
    folder.mkdir(exist_ok=True)
    (folder / "b.csv").unlink(missing_ok=True)
    if version == "first":
        write_numbers(folder, "a.csv", 0, 50)
        write_numbers(folder, "b.csv", 50, 50)
    elif version == "second":
        write_numbers(folder, "a.csv", 10, 40)
        write_numbers(folder, "b.csv", 50, 50)
    else:
        write_numbers(folder, "a.csv", 0, 10)


def wait_version(table: IngestionTable, version: str) -> None:
    sql = f"select count(*), sum(id) from {table.name}"
    wait_for(lambda: tuple(table.broker.query(sql).rows[0]) == ROWS[version], f"the {version} version")


@contextmanager
def only_whole_versions(table: IngestionTable, *versions: str) -> Iterator[None]:
    """Count rows continuously, and check that queries saw these versions, in this order."""
    with table.polled() as reader:
        yield
        reader.poll_until(reader.polls + 1)
    assert (reader.partials, reader.errors) == ([], [])
    assert reader.seen == [ROWS[version] for version in versions]


@pytest.mark.parametrize("mode", [pytest.param(SWAP, id="swap"), pytest.param(SYNC, id="sync", marks=FULL)])
def test_versions_come_back_in_one_step(
    ingestion_table: IngestionTable,
    pinotctl: Pinotctl,
    shared_folder: Path,
    tmp_path: Path,
    mode: dict[str, str],
) -> None:
    table = ingestion_table.create()
    ids, segments = {}, {}
    for version in ROWS:
        write_version(shared_folder, version)
        if version == "first":
            staging = {"outputDirURI": f"file://{tmp_path / 'staging'}"}
            table.register(shared_folder, "csv", **staging, **mode, **AT_ONCE)
        report = table.run().report
        ids[version], segments[version] = report["session"], report["segments"]
        wait_version(table, version)
    if not has(Capability.LINEAGE_PROTECTED):
        wait_for(lambda: len(table.segments()) == 1, "the replaced segments to be deleted")
    listed = pinotctl.json("versions", table.name)
    assert [row["version"] for row in listed] == list(ids.values())[::-1]
    assert [row["state"] for row in listed] == ["current", "kept", "kept"]

    would = pinotctl.json("rollback", table.name, "--to", ids["first"], "--dry-run")
    assert (would["restored_segments"], would["removed_segments"]) == (segments["first"], 1)
    with only_whole_versions(table, "third", "first", "second"):
        report = pinotctl.json("rollback", table.name, "--to", ids["first"], "--yes")
        assert (report["outcome"], report["rows"], report["replaced_segments"]) == ("rolled_back", 100, 1)
        wait_version(table, "first")
        refused = table.run()
        assert refused.error_type == "HeldError"
        assert f"was rolled back to version {ids['first']}" in refused.failed
        pinotctl("rollback", table.name, "--to", ids["second"], "--yes")
        wait_version(table, "second")
    assert "does nothing, since" in pinotctl.json("plan", table.name)["next_trigger"]
    # What came back is what its record says, and an ordinary segment from now on.
    for name in table.client.segments.list(table.with_type, exclude_replaced=True):
        fetch = ("segment", "fetch", table.name, name, "--to", str(tmp_path))
        assert invoke(table.controller_url, *fetch).code == 0

    assert pinotctl.json("follow", table.name)["rolled_back_to"] == ids["second"]
    with only_whole_versions(table, "second", "third"):
        assert table.run().report["outcome"] == "switched"
        wait_version(table, "third")
    assert table.run().report["outcome"] == "nothing_new"


def test_a_killed_rollback_is_finished_or_begun_again(
    ingestion_table: IngestionTable, pinotctl: Pinotctl, shared_folder: Path, tmp_path: Path
) -> None:
    """The command is killed when its lineage entry has begun."""
    table = ingestion_table.create()
    write_version(shared_folder, "first")
    staging = tmp_path / "staging"
    table.register(shared_folder, "csv", outputDirURI=f"file://{staging}", **SYNC, **AT_ONCE)
    first = table.run().report["session"]
    write_version(shared_folder, "second")
    table.run()
    wait_version(table, "second")
    with only_whole_versions(table, "second", "first"):
        rollback = ("task", "rollback", table.name, "--to", first, "--yes")
        process = start_pinotctl(table.controller_url, *rollback)
        wait_for(
            lambda: (
                pinotctl.json("session", "show", table.name)["state"] == "SWITCH"
                or process.poll() is not None
            ),
            "the switch of the rollback",
            interval_s=0.01,
        )
        process.kill()
        ended(process)
        report = pinotctl.json("rollback", table.name, "--to", first, "--yes", "--wait-lock", "60")
        assert report["outcome"] in ("done_before", "rolled_back")
        wait_version(table, "first")
    assert [path for path in staging.rglob("*") if path.is_file() and "/kept/" not in str(path)] == []
    assert table.run().error_type == "HeldError"


@FULL
def test_appended_rows_go_although_nothing_comes_back(
    ingestion_table: IngestionTable, pinotctl: Pinotctl, shared_folder: Path
) -> None:
    table = ingestion_table.create()
    write_numbers(shared_folder, "a.csv", 0, 100)
    table.register(shared_folder, "csv", keepVersions="2")
    first = table.run().report["session"]
    write_numbers(shared_folder, "b.csv", 100, 100)
    second = table.run().report["session"]
    table.wait_count(200)
    pinotctl("rollback", table.name, "--to", first, "--yes")
    wait_version(table, "first")
    report = pinotctl.json("rollback", table.name, "--to", second, "--yes")
    assert (report["rows"], report["segments"]) == (100, 1)
    table.wait_count(200)
