"""Sessions that their checks reject, on a cluster: judged by what it serves, published, discarded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.file_ingestion.ingestion import IngestionTable, Pinotctl, write_numbers

pytestmark = pytest.mark.cluster


def _write(path: Path, first: int, rows: int, *, word: str = "w", amount: str = "1.5") -> None:
    lines = [f"{number},{word},{amount}\n" for number in range(first, first + rows)]
    path.write_text("id,word,amount\n" + "".join(lines), encoding="utf-8")


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_rejected_push_is_judged_again_published_or_discarded(
    ingestion_table: IngestionTable, pinotctl: Pinotctl, shared_folder: Path, tmp_path: Path
) -> None:
    table, staging = ingestion_table.create(), tmp_path / "staging"
    _write(shared_folder / "1.csv", 0, 50)
    checks = {"checks.range.amount": "0..100", "checks.minRows": "50"}
    table.register(shared_folder, "csv", outputDirURI=f"file://{staging}", **checks)
    assert table.run().report["rows"] == 50
    table.wait_count(50)

    # A column that the table fills is empty in all new rows.
    _write(shared_folder / "2.csv", 50, 40, word="")
    ran = table.run()
    assert (ran.code, ran.out, ran.error_type) == (1, "", "ChecksFailedError")
    empty = "column word has a value in 100.0% of the table's rows, but in none of the 40 new ones"
    assert empty in ran.err
    staged, tasks = _files(staging), table.tasks()
    assert len(staged) == 2
    shown = pinotctl.json("session", "show", table.name)
    assert (shown["state"], shown["rows"], shown["replaces"]["segments"]) == ("REJECTED", 40, 0)
    assert empty in shown["message"]
    assert shown["next_trigger"].startswith("checks what is staged once more")
    planned = pinotctl.json("plan", table.name)
    assert (planned["next_action"], planned["files_to_read"]) == ("judge", 0)
    assert empty in table.run().failed
    assert (_files(staging), table.tasks()) == (staged, tasks), "nothing is read again"
    assert table.count() == 50

    pinotctl("publish", table.name, code=2)
    would = pinotctl("publish", table.name, "--accept", "--dry-run").err
    assert "40 rows in 1 segment staged, to replace 0 segments" in would
    assert empty in would
    report = pinotctl.json("publish", table.name, "--accept", "--yes")
    assert (report["outcome"], report["session"], report["rows"]) == ("switched", shown["session"], 40)
    table.wait_count(90)
    assert _files(staging) == []
    assert table.run().report["outcome"] == "nothing_new"

    # A value is outside of its range.
    _write(shared_folder / "3.csv", 90, 40, amount="-1")
    ran = table.run()
    assert "checks.range.amount is 0..100: segment " in ran.failed
    assert ran.failed.count("-1") >= 1
    done = pinotctl.json("discard", table.name, "--yes")
    assert (done["changed"], done["session"] != shown["session"]) == (True, True)
    assert _files(staging) == []
    pinotctl("discard", table.name, "--yes", code=1)
    write_numbers(shared_folder, "3.csv", 90, 40)
    assert table.run().report["rows"] == 40
    table.wait_count(130)


def test_a_swap_that_loses_rows_is_rejected_and_passes_when_the_check_is_changed(
    ingestion_table: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    table = ingestion_table.create()
    configs = {"outputDirURI": f"file://{tmp_path / 'staging'}", "consistentPushSwapEnabled": "true"}
    write_numbers(shared_folder, "1.csv", 0, 100)
    table.register(shared_folder, "csv", **configs, **{"checks.maxRowsChange": "20%"})
    assert table.run().report["rows"] == 100
    table.wait_count(100)
    write_numbers(shared_folder, "1.csv", 0, 79)
    assert "79 rows instead of 100, which is -21.0%" in table.run().failed
    assert table.count() == 100
    table.register(shared_folder, "csv", **configs, **{"checks.maxRowsChange": "21%"})
    report = table.run().report
    assert (report["outcome"], report["retry_count"], report["rows"]) == ("switched", 0, 79)
    table.wait_count(79)
