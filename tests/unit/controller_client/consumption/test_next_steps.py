"""Each state of a table that needs an action has a step, with existing commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

import click
import pytest

from controller_client.cli import cli
from controller_client.common.names import TableName
from controller_client.consumption.next_steps import next_steps
from controller_client.consumption.status import PartitionState, PartitionStatus, TableState, TableStatus
from controller_client.helix.ideal_state import PinotPause

TABLE = TableName("a b_REALTIME")
FINE = PartitionStatus(0, PartitionState.CONSUMING, offset="10", latest_offset=20, lag=10)
CONSUMING = TableStatus(TABLE, TableState.CONSUMING, (FINE,))


def incomplete(*partitions: PartitionStatus) -> TableStatus:
    return replace(CONSUMING, state=TableState.INCOMPLETE, partitions=(FINE, *partitions))


def in_state(state: PartitionState, number: int = 1) -> PartitionStatus:
    return PartitionStatus(number, state)


FAILED = incomplete(in_state(PartitionState.FAILED))
QUOTA = PinotPause("STORAGE_QUOTA_EXCEEDED")
CASES = {
    "disabled": (replace(CONSUMING, state=TableState.DISABLED), "pinotctl table enable 'a b_REALTIME'"),
    "paused": (
        replace(CONSUMING, state=TableState.PAUSED),
        "pinotctl consumption resume 'a b_REALTIME' --dry-run",
    ),
    "pausing": (replace(CONSUMING, state=TableState.PAUSING), "pinotctl consumption pause 'a b_REALTIME'"),
    "by Pinot": (
        replace(CONSUMING, state=TableState.PAUSED, pinot_pause=QUOTA),
        "pinotctl consumption status 'a b_REALTIME' --watch",
    ),
    "failed": (FAILED, "pinotctl consumption recover 'a b_REALTIME' --dry-run"),
    "not built": (
        replace(CONSUMING, partitions=(replace(FINE, building=("s",)),)),
        "pinotctl consumption recover 'a b_REALTIME' --dry-run",
    ),
    "stopped": (
        incomplete(in_state(PartitionState.STOPPED)),
        "pinotctl consumption recreate 'a b_REALTIME' --dry-run",
    ),
    "starting": (
        incomplete(in_state(PartitionState.STARTING)),
        "pinotctl consumption status 'a b_REALTIME' --watch",
    ),
    "partitions": (
        replace(
            CONSUMING,
            partitions=(
                in_state(PartitionState.PARTITION_PAUSED),
                in_state(PartitionState.PARTITION_PAUSING, 4),
            ),
        ),
        "pinotctl consumption resume 'a b_REALTIME' --partition 1 --partition 4",
    ),
    "lost": (
        replace(CONSUMING, partitions=(replace(FINE, lost=(10, 15)),)),
        "pinotctl consumption status 'a b_REALTIME' --output json",
    ),
    "ahead": (
        replace(CONSUMING, partitions=(replace(FINE, latest_offset=5),)),
        "pinotctl consumption pause 'a b_REALTIME'",
    ),
    "unknown": (
        replace(CONSUMING, stream_problem="it is far away"),
        "pinotctl consumption status 'a b_REALTIME'",
    ),
    "topic": (
        replace(CONSUMING, paused_topics={1: "clicks"}),
        "curl -X POST \"$PINOT_CONTROLLER_URL\"'/tables/a b_REALTIME/resumeTopicConsumption?topicIndices=1'",
    ),
}


def commands(status: TableStatus) -> Iterator[str]:
    for step in next_steps(status):
        yield from step.commands


def test_a_consuming_table_needs_no_action() -> None:
    assert next_steps(CONSUMING) == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_first_command(name: str) -> None:
    status, first = CASES[name]
    assert next(commands(status)) == first


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_commands_are_those_of_pinotctl(name: str) -> None:
    for command in commands(CASES[name][0]):
        program, *words = shlex.split(command)
        if program == "curl":
            continue
        below: click.Command | None = cli
        context = click.Context(cli)
        while isinstance(below, click.Group):
            below = below.get_command(context, words.pop(0))
        assert below is not None
        options = {option for parameter in below.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
        assert TABLE in words


def test_the_most_urgent_is_first() -> None:
    both = replace(FAILED, stream_problem="it is far away", state=TableState.PAUSED)
    assert [step.commands[0].split()[2] for step in next_steps(both)] == ["recover", "resume", "status"]
