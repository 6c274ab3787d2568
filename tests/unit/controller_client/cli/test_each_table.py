"""One command for several tables."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from controller_client.cli.commands.each_table import each_table
from controller_client.cli.context import CliContext
from controller_client.cli.output import OutputFormat
from controller_client.common.names import TableName
from controller_client.consumption import TableControl
from controller_client.errors import OutcomeUnknownError, PinotPluginError, RejectedError
from tests.unit.controller_client.consumption.worlds import World


@pytest.fixture
def cli() -> CliContext:
    return CliContext()


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([None, None], 0),
        ([None, RejectedError("no")], 1),
        ([OutcomeUnknownError("lost"), RejectedError("no"), None], 3),
    ],
)
def test_an_unknown_outcome_counts_more_than_a_failure(
    cli: CliContext, errors: list[PinotPluginError | None], code: int
) -> None:
    controls = [World().control for _ in errors]
    again: list[TableControl] = []

    def do(control: TableControl) -> dict[str, Any]:
        error = errors[next(i for i, each in enumerate(controls) if each is control)]
        if error:
            raise error
        return {}

    def note(control: TableControl) -> dict[str, Any]:
        again.append(control)
        return {}

    if code:
        with pytest.raises(click.exceptions.Exit) as ended:
            each_table(cli, controls, do, note)
        assert ended.value.exit_code == code
    else:
        each_table(cli, controls, do, note)
    assert len(again) == errors.count(None)


def test_the_error_of_a_single_table_is_raised(cli: CliContext) -> None:
    def do(_control: TableControl) -> dict[str, Any]:
        raise OutcomeUnknownError("lost")

    with pytest.raises(OutcomeUnknownError):
        each_table(cli, [World().control], do)


def test_json_has_an_object_for_each_table_with_what_every_step_added(
    cli: CliContext, capsys: pytest.CaptureFixture[str]
) -> None:
    well, failing = World().control, World().control
    failing.table = TableName("other_REALTIME")
    cli.out.format = OutputFormat.JSON

    def first(_control: TableControl) -> dict[str, Any]:
        return {"changed": True, "paused": False}

    def second(control: TableControl) -> dict[str, Any]:
        if control is failing:
            raise RejectedError("no")
        return {"paused": True}

    with pytest.raises(click.exceptions.Exit):
        each_table(cli, [well, failing], first, second)
    assert json.loads(capsys.readouterr().out) == [
        {"table": well.table, "error": None, "changed": True, "paused": True},
        {"table": "other_REALTIME", "error": "no", "changed": True, "paused": False},
    ]
