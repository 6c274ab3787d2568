"""One command for several tables."""

from __future__ import annotations

import click
import pytest

from controller_client.cli.commands.each_table import each_table
from controller_client.cli.context import CliContext
from controller_client.consumption import TableControl
from controller_client.errors import OutcomeUnknownError, PinotPluginError, RejectedError
from tests.unit.controller_client_consumption.worlds import World


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
def test_an_unknown_outcome_is_told_before_a_failure(
    cli: CliContext, errors: list[PinotPluginError | None], code: int
) -> None:
    controls = [World().control for _ in errors]
    again: list[TableControl] = []

    def do(control: TableControl) -> None:
        error = errors[next(i for i, each in enumerate(controls) if each is control)]
        if error:
            raise error

    if code:
        with pytest.raises(click.exceptions.Exit) as ended:
            each_table(cli, controls, do, again.append)
        assert ended.value.exit_code == code
    else:
        each_table(cli, controls, do, again.append)
    assert len(again) == errors.count(None)


def test_the_error_of_a_single_table_is_the_command_s(cli: CliContext) -> None:
    def do(_control: TableControl) -> None:
        raise OutcomeUnknownError("lost")

    with pytest.raises(OutcomeUnknownError):
        each_table(cli, [World().control], do)
