"""pinotctl query against the cluster: forms, files, parameters, the shell, and completions of names."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from pinotctl.root import cli
from tests.integration.queries.kinds_table import ROWS
from tests.support.cluster import PinotCluster
from tests.support.pinotctl import pinotctl
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]


@pytest.fixture(autouse=True)
def environment(pinot: PinotCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINOT_CONTROLLER_URL", pinot.controller_url)
    monkeypatch.setenv("PINOTCTL_CONFIG", "/no/such/file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))


def query(*words: str) -> str:
    done = CliRunner().invoke(cli, ["query", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_forms_files_and_parameters(kinds: str, tmp_path: Path) -> None:
    sql = (
        f"select id, text, decimal, ints from {kinds} where text in (:texts) and id > :id order by id limit 9"
    )
    given = ("--param", 'texts=["it\'s", "semi; colon"]', "--param", "id=3")
    lines = [json.loads(line) for line in query(sql, *given, "--output", "jsonl").splitlines()]
    assert [line["text"] for line in lines] == ["it's", "semi; colon"]
    assert lines[0]["decimal"] == ROWS[0]["decimal"]
    shown = query(sql, *given, "--output", "vertical")
    assert shown.startswith("-[ row 1 ]")
    assert "ints    | [1, -2]" in shown
    target = tmp_path / "rows.parquet"
    assert query(f"select * from {kinds} limit 100", "--output", "parquet", "--to", str(target)) == ""
    assert pq.read_table(target).num_rows == len(ROWS)
    file = tmp_path / "two.sql"
    file.write_text(
        f"-- two; of them\nset timeoutMs = 9000; select 1 from {kinds} limit 1;\nselect count(*) from {kinds}"
    )
    first, second = json.loads(query("--file", str(file), "--output", "json"))
    assert (first["rows"], second["rows"]) == ([[1]], [[len(ROWS)]])


def test_the_shell(kinds: str) -> None:
    with PseudoTerminal(pinotctl("query", "--param", "id=100"), os.environ) as terminal:
        terminal.wait_for("pinot>")
        terminal.press("select count(*)\r")
        terminal.wait_for("->")
        # Only one table begins so: Tab completes it.
        terminal.press(f"from {kinds[:-1]}\t")
        terminal.wait_for(rf" \x08{kinds[-1]}")
        terminal.press(" where id >= :id;\r")
        terminal.wait_for(rf"\n {len(ROWS) - 3}\s")
        terminal.wait_for("servers answered; .* ms here")
        terminal.press("\\d\r")
        terminal.wait_for(rf"\n {kinds}\s")
        terminal.press(f"\\d {kinds}\r")
        terminal.wait_for("doubles +DOUBLE_ARRAY +dimension")
        terminal.press(f"select id from {kinds}x;\r")
        terminal.wait_for(f"did you mean .*{kinds}")
        terminal.press("\\x\r")
        terminal.wait_for("The output format is vertical")
        terminal.press(f"select id, text from {kinds} where id = :id limit 1; select nope from {kinds};\r")
        terminal.wait_for("text . plain")
        terminal.wait_for("Error: .*nope")
        terminal.wait_for("pinot>")
        terminal.press("\x04")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.shown


def test_names_are_completed(
    kinds: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A process that completes a name logs nothing any more; this one goes on.
    monkeypatch.setattr(logging.root.manager, "disable", logging.NOTSET)

    def completed(line: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        printed = BashComplete(cli, {}, "pinotctl", "_PINOTCTL_COMPLETE").complete()
        assert capsys.readouterr().err == ""
        return [text.removeprefix("plain,") for text in printed.split()]

    def completes(line: str, names: list[str]) -> None:
        # On a busy machine the controller may not answer in time, and then there is no name.
        wait_for(lambda: completed(line) == names, f"{names} of {line!r}")

    completes(f"pinotctl table show {kinds[:-1]}", [kinds])
    completes(f"pinotctl consumption status {kinds}_", [f"{kinds}_OFFLINE"])
    completes(f"pinotctl segment show {kinds} ", [f"{kinds}_0"])
    assert completed(f"pinotctl segment delete {kinds} {kinds}_0 ") == []
    wait_for(lambda: kinds in completed("pinotctl schema show t_"), "the schema")
    wait_for(lambda: completed("pinotctl instance show Server_"), "the servers")
