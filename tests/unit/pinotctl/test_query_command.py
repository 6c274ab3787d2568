"""What pinotctl query refuses before it runs a query, and its shell if no broker answers."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from controller_client.errors import ConfigError
from pinotctl.querying.parameters import params_of, read_params
from pinotctl.querying.prompt import history_path, is_finished
from pinotctl.querying.writing import vertical
from tests.support.pinotctl import pinotctl
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.wait import wait_for
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, answer, closed_port, silence
from tests.unit.pinotctl.conftest import Run


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("0.10", Decimal("0.10")),
        ("true", True),
        ('"7"', "7"),
        ("[1, 2]", [1, 2]),
        ("Berlin", "Berlin"),
        (" a=b ", " a=b "),
        ("", ""),
        ("007", "007"),
        ("null", "null"),
        ("[null]", "[null]"),
        ("NaN", "NaN"),
        ('{"a": 1}', '{"a": 1}'),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_the_value_of_a_parameter(text: str, value: Any) -> None:
    found = read_params([f"x={text}"])["x"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("pairs", [["x"], ["=1"], ["a b=1"], ["x=1", "x=2"]])
def test_a_parameter_that_cannot_be_read(pairs: list[str]) -> None:
    with pytest.raises(ConfigError, match="--param"):
        read_params(pairs)


def test_each_statement_gets_the_parameters_that_it_uses() -> None:
    given = {"a": 1, "b": 2}
    assert params_of(["select :a", "select :a, :b", "select 1"], given) == [{"a": 1}, given, {}]
    assert params_of(["select ':a'"], {}) == [None]
    with pytest.raises(ConfigError, match="--param b"):
        params_of(["select :a", "select ':b'"], given)


def test_what_is_refused_before_any_query_is_run(run: Run, tmp_path: Path) -> None:
    nobody = ("--broker", f"http://127.0.0.1:{closed_port()}")
    file = tmp_path / "two.sql"
    file.write_text("select 1; select 2;")
    for words, message in (
        (("query",), "no SQL was given"),
        (("query", "select 1", "--file", str(file)), "both SQL and --file were given"),
        (("query", "--file", str(tmp_path / "none.sql")), "cannot be read"),
        (("query", "--file", str(file), "--output", "csv"), "2 statements, but csv can contain the rows of"),
        (("query", "--shell"), "the shell needs a terminal"),
        (("query", "select 1", "--shell"), "--shell prompts for statements itself"),
        (("query", "select 1", "--param", "x=1"), "no placeholder :x"),
    ):
        result = run(*nobody, *words)
        assert (result.exit_code, message in result.stderr) == (2, True), result.output


_RESULT: dict[str, Any] = {
    "resultTable": {
        "dataSchema": {"columnNames": ["id", "text"], "columnDataTypes": ["LONG", "STRING"]},
        "rows": [[1, "a,b"], [2, None]],
    },
    "exceptions": [],
    **dict.fromkeys(("numServersQueried", "numServersResponded"), 1),
}


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("d.csv", (), 'id,text\n1,"a,b"\n2,\n'),
        ("D.CSV", (), 'id,text\n1,"a,b"\n2,\n'),
        ("d.jsonl", (), '{"id": 1, "text": "a,b"}\n{"id": 2, "text": null}\n'),
        ("d.ndjson", (), '{"id": 1, "text": "a,b"}\n{"id": 2, "text": null}\n'),
        ("d.txt", (), "id  text\n1   a,b\n2\n"),
        ("d", (), "id  text\n1   a,b\n2\n"),
        ("d.txt", ("--output", "csv"), 'id,text\n1,"a,b"\n2,\n'),
        ("d.csv", ("--output", "table"), "id  text\n1   a,b\n2\n"),
    ],
)
def test_a_file_has_the_format_of_its_ending(
    run: Run, tmp_path: Path, name: str, options: tuple[str, ...], text: str
) -> None:
    with ScriptedServer(answer(200, _RESULT)) as server:
        result = run("--broker", server.url, "query", "select 1", "--to", str(tmp_path / name), *options)
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert (tmp_path / name).read_text() == text


def test_json_and_parquet_files_have_the_format_of_their_endings(run: Run, tmp_path: Path) -> None:
    for name in ("d.json", "d.parquet"):
        with ScriptedServer(answer(200, _RESULT)) as server:
            assert (
                run("--broker", server.url, "query", "select 1", "--to", str(tmp_path / name)).exit_code == 0
            )
    assert json.loads((tmp_path / "d.json").read_text())["rows"] == [[1, "a,b"], [2, None]]
    rows = [{"id": 1, "text": "a,b"}, {"id": 2, "text": None}]
    assert pq.read_table(tmp_path / "d.parquet").to_pylist() == rows


def test_csv_may_have_any_number_of_rows(run: Run) -> None:
    for count in (0, 1, 999, 1_000, 1_001, 2_500):
        rows = [[number, str(number)] for number in range(count)]
        reply = {**_RESULT, "resultTable": {**_RESULT["resultTable"], "rows": rows}}
        with ScriptedServer(answer(200, reply)) as server:
            result = run("--broker", server.url, "query", "select 1", "--output", "csv")
        assert result.stdout.splitlines() == ["id,text", *(f"{number},{number}" for number in range(count))]


def test_the_vertical_format() -> None:
    assert list(vertical(["a", "long name"], [[1, None], ["x\ny", Decimal("1E-7")]])) == [
        "-[ row 1 ]--",
        "a         | 1",
        "long name |",
        "-[ row 2 ]--",
        r"a         | x\ny",
        "long name | 0.0000001",
    ]


def test_enter_submits_a_complete_statement_and_the_history_has_its_place() -> None:
    assert [is_finished(text) for text in ("", "\\d", "select 1;", "select ';'", "select 1")] == [
        *(True, True, True, False, False)
    ]
    assert history_path({"XDG_STATE_HOME": "/s"}) == Path("/s/pinotctl/query-history")
    assert history_path({}) == Path.home() / ".local/state/pinotctl/query-history"


def test_ctrl_c_interrupts_a_query_and_the_shell_continues(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "PINOTCTL_CONFIG": str(tmp_path / "none")}
    refusal = {"exceptions": [{"errorCode": 150, "message": "SQLParsingError"}]}
    ended = answer(200, "Cancelled client query: x with responses from servers: {h:1=404, h:2=200}")
    unknown = answer(200, "Cancelled client query: x with responses from servers: {h:1=404, h:2=404}")
    with (
        ScriptedServer(silence, ended, silence, unknown, answer(200, refusal)) as server,
        PseudoTerminal(pinotctl("--broker", server.url, "query", "--shell"), environment) as terminal,
    ):
        terminal.wait_for("pinot>")
        terminal.press("select 1;\r")
        wait_for(lambda: bool(server.requests), "the query to reach the broker")
        terminal.press("\x03")
        terminal.wait_for("Asked the servers to end the query.")
        terminal.wait_for("Interrupted")
        terminal.wait_for("pinot>")
        query, cancel = server.requests
        assert cancel.method == "DELETE"
        assert cancel.target == f"/query/{_query_id(query)}?verbose=true&client=true"
        terminal.press("select 1;\r")
        wait_for(lambda: len(server.requests) == 3, "the query to reach the broker")
        assert _query_id(server.requests[2]) != _query_id(query)
        terminal.press("\x03")
        terminal.wait_for("The query could not be cancelled")
        terminal.wait_for("pinot>")
        terminal.press("select 2;\r")
        terminal.wait_for("Error: 150 SQLParsingError")
        terminal.wait_for("pinot>")
        terminal.press("\\nope\r")
        terminal.wait_for("there is no helper")
        # A key typed before the prompt is shown would meet a terminal that handles it in its own way.
        terminal.wait_for("pinot>")
        terminal.press("not whole")
        terminal.wait_for("not whole")
        terminal.press("\x03")
        # The line that is given up is drawn once more, with its prompt; only an answer shows that the next
        # prompt is there. Between two prompts, Ctrl-D would be lost.
        terminal.press("\\other\r")
        terminal.wait_for(r"there is no helper \\other")
        terminal.wait_for("pinot>")
        terminal.press("\x04")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.shown
    history = tmp_path / "pinotctl" / "query-history"
    assert history.stat().st_mode & 0o077 == 0
    assert "select 2;" in history.read_text()


def _query_id(query: Seen) -> str:
    options: dict[str, str] = dict(option.split("=") for option in query.json()["queryOptions"].split(";"))
    return options["clientQueryId"]


def test_parquet_is_not_written_to_a_terminal(tmp_path: Path) -> None:
    environment = {**os.environ, "PINOTCTL_CONFIG": str(tmp_path / "none")}
    words = ("--broker", f"http://127.0.0.1:{closed_port()}", "query", "select 1", "--output", "parquet")
    with PseudoTerminal(pinotctl(*words), environment) as terminal:
        terminal.wait_for("Parquet is binary and cannot be written to a terminal")
        assert terminal.ended() == 2
