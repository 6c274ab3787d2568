"""The next steps on a session's page, for each way in which a session can end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_client.common.console import Console
from minion_tasks.file_ingestion.report.charts import attempts_chart
from minion_tasks.file_ingestion.report.counts import count_attempts
from minion_tasks.file_ingestion.report.next_steps import next_steps
from minion_tasks.file_ingestion.report.page import page
from minion_tasks.file_ingestion.session.model import FileEntry, FileGroup, FileStatus, Session, SessionState
from tests.unit.minion_tasks.test_report import BEGAN, GROUPS, HOUR, SESSION, counted, file

PLAN, RUN = "pinotctl task plan t_OFFLINE", "pinotctl task run t_OFFLINE"
DONE = replace(SESSION, state=SessionState.DONE)
SKIPPED = FileGroup(0, (FileEntry(0, file(0), FileStatus.SKIPPED, "no header"),))


@pytest.mark.parametrize(
    ("session", "groups", "commands"),
    [
        (SESSION, GROUPS, [PLAN, RUN]),
        (replace(SESSION, state=SessionState.SWITCH), GROUPS[1:], [RUN]),
        (
            replace(SESSION, state=SessionState.REJECTED),
            GROUPS[1:],
            [RUN, "pinotctl task publish t_OFFLINE --accept", "pinotctl task discard t_OFFLINE"],
        ),
        (replace(SESSION, state=SessionState.INIT), (), [RUN]),
        (replace(SESSION, abandoned=True), (), [PLAN, RUN]),
        (DONE, (), [PLAN]),
        (DONE, [SKIPPED], [PLAN, PLAN]),
        (
            replace(DONE, restores="20261129T080000000-abcdef", held=True),
            (),
            ["pinotctl task follow t_OFFLINE", "pinotctl task versions t_OFFLINE"],
        ),
        (replace(DONE, behind=(("Server_a", 2),)), (), ["pinotctl lineage doctor t_OFFLINE", PLAN]),
    ],
)
def test_the_commands_of_each_state(session: Session, groups: list[FileGroup], commands: list[str]) -> None:
    steps = next_steps(counted(session, groups), "starts over", None)
    assert [command for step in steps for command in step.commands] == commands


def test_a_run_is_followed_and_an_older_session_is_left() -> None:
    (step,) = next_steps(counted(), "waits", "me@here:1")
    assert "by me@here:1" in step.text
    assert step.commands == ("pinotctl task watch t_OFFLINE",)
    (step,) = next_steps(counted(), None, None)
    assert step.commands == ("pinotctl task session show t_OFFLINE",)


def test_segments_are_links_only_while_they_are_segments_of_the_table() -> None:
    console = Console("http://me:secret@host:9000")
    link = '<a href="http://host:9000/#/tenants/table/t_OFFLINE/a">a</a>'
    before = page(counted(), now_ms=BEGAN, next_does="starts over", console=console)
    after = page(counted(DONE), now_ms=BEGAN, next_does="starts over", console=console)
    assert link not in before
    assert link in after
    assert '<h1><a href="http://host:9000/#/tenants/table/t_OFFLINE">t_OFFLINE</a>' in before
    assert "secret" not in before + after


@pytest.mark.parametrize("is_narrow", [False, True])
@pytest.mark.parametrize("retries", [0, 1, 5, 40])
def test_each_panel_has_room_for_its_words(retries: int, is_narrow: bool) -> None:
    times = tuple(BEGAN + number * HOUR for number in range(retries + 1))
    session = replace(SESSION, attempts_ms=times, retry_count=retries)
    attempts = count_attempts(session, [at + 1000 for at in times], [at + 2000 for at in times])
    chart = attempts_chart(attempts, 1000, is_narrow=is_narrow)
    assert chart.panels
    assert chart.panels[-1].x + chart.panels[-1].width <= chart.right + 0.01
    for panel, following in zip(chart.panels, chart.panels[1:], strict=False):
        assert panel.x + panel.width < following.x
    assert all(panel.width >= 6.6 * len(panel.counts) for panel in chart.panels)
