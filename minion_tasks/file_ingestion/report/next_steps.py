"""What to do after a session, with the commands. Pure: no IO."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from controller_client.common.pages import PageStep
from controller_client.common.text import counted_text
from minion_tasks.file_ingestion.report.counts import SessionReport
from minion_tasks.file_ingestion.session.model import FileStatus, SessionState

__all__ = ["next_steps"]


def next_steps(report: SessionReport, next_does: str | None, runner: str | None) -> list[PageStep]:
    """Describe what to do next, in this order; there is always something.

    Args:
        report: The session.
        next_does: What the table's next trigger does, as a sentence's end; None of an older session.
        runner: Who runs the table now.
    """
    return list(_steps(report, next_does, runner))


def _steps(report: SessionReport, next_does: str | None, runner: str | None) -> Iterator[PageStep]:
    session, table = report.session, shlex.quote(report.session.table)
    if next_does is None:
        text = "This is not the table's last session. See the last one instead."
        yield PageStep(text, (f"pinotctl task session show {table}",))
        return
    if runner is not None:
        text = f"A run by {runner} is in progress. Follow it. The next trigger {next_does}."
        yield PageStep(text, (f"pinotctl task watch {table}",))
        return
    if session.is_open and (failed := report.files[FileStatus.FAILED]):
        yield PageStep(
            f"{counted_text(failed, 'file')} failed, for the reasons below. Fix them at the source, or "
            "remove them from it. Then check what the next run will read.",
            (f"pinotctl task plan {table}",),
        )
    if skipped := report.files[FileStatus.SKIPPED]:
        yield PageStep(
            f"{counted_text(skipped, 'file')} could not be opened and {'was' if skipped == 1 else 'were'} "
            "skipped. Rewrite them at the source: the next session reads what is not in the table.",
            (f"pinotctl task plan {table}",),
        )
    if session.behind:
        servers = ", ".join(
            f"{server} ({counted_text(count, 'segment')})" for server, count in session.behind
        )
        yield PageStep(
            f"The switch continued while servers still lacked new segments: {servers}. Check that they have "
            "caught up.",
            (f"pinotctl lineage doctor {table}",),
        )
    if session.is_open and session.state is SessionState.REJECTED:
        yield PageStep(
            "What is staged does not pass the checks, for the reasons above. Fix the source or the checks,"
            f" and run the task again. The next trigger {next_does}. Or publish what is staged all the same,"
            " or delete it.",
            (
                f"pinotctl task run {table}",
                f"pinotctl task publish {table} --accept",
                f"pinotctl task discard {table}",
            ),
        )
    elif session.is_open:
        yield PageStep(f"Run the task again. The next trigger {next_does}.", (f"pinotctl task run {table}",))
    elif session.held:
        text = (
            f"The table was rolled back to version {session.restores}, and stays there. Have its task follow"
            " the source again once that is right, or return to another version."
        )
        yield PageStep(text, (f"pinotctl task follow {table}", f"pinotctl task versions {table}"))
    elif session.state is SessionState.DONE:
        text = f"The session is finished. The next trigger {next_does}. See what it would do."
        yield PageStep(text, (f"pinotctl task plan {table}",))
    else:
        text = f"The session was discarded. The next trigger {next_does}."
        yield PageStep(text, (f"pinotctl task plan {table}", f"pinotctl task run {table}"))
