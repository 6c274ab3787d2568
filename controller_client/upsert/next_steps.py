"""What to do about an upsert table, with the commands. Pure: no IO."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from controller_client.common.pages import PageStep
from controller_client.common.text import counted_text
from controller_client.upsert.columns import NIL
from controller_client.upsert.coordinator_state import CoordinatorPhase
from controller_client.upsert.status import UpsertStatus

__all__ = ["next_steps"]

_FAR_BEHIND_S = 60.0


def next_steps(status: UpsertStatus) -> list[PageStep]:
    """Describe what to do, the most urgent first; there is always something."""
    again = f"pinotctl upsert status {shlex.quote(status.mark.table)}"
    steps = list(_faults(status))
    if steps:
        return [*steps, PageStep("Then read the status again.", (again,))]
    if status.state.phase is CoordinatorPhase.STARTING:
        return [
            PageStep("Wait for the key coordinator's first version, then read the status again.", (again,))
        ]
    watermark = f"pinotctl upsert watermark {shlex.quote(status.mark.table)} --wait-produced"
    text = "Nothing. To wait until queries see all rows that are in the topic now, run this command."
    return [PageStep(text, (watermark,))]


def _faults(status: UpsertStatus) -> Iterator[PageStep]:
    mark, quoted = status.mark, shlex.quote(status.mark.table)
    if not mark.servers:
        text = "No live server has a segment of the table. Start its servers, and check which are connected."
        yield PageStep(text, ("pinotctl instance list --live",))
    if mark.silent:
        yield PageStep(
            f"{', '.join(mark.silent)} has reported no version, so there is no mark. Run every server of the "
            "table's tenant as a server hosted in Python, with its hook upsert.",
            ("pinotctl serve server",),
        )
    if status.state.phase in (CoordinatorPhase.NEVER_STARTED, CoordinatorPhase.STOPPED):
        since = "has never been started" if status.coordinator is None else "does not run"
        yield PageStep(
            f"The key coordinator {since}, so queries do not see new rows. Start it with the folder of "
            "its state.",
            (f"pinotctl upsert coordinate {quoted} --checkpoint FOLDER",),
        )
    elif mark.servers and not mark.silent and mark.version == NIL and status.coordinator is not None:
        who = ", ".join(mark.holders) or "all servers"
        text = f"No version is complete yet on {who}. Check the consumption there."
        yield PageStep(text, (f"pinotctl consumption status {quoted}",))
    elif status.lag_s is not None and status.lag_s > _FAR_BEHIND_S:
        who = ", ".join(mark.holders) or "All servers"
        yield PageStep(
            f"Queries see a state that is {status.lag_s:,.0f} s old, "
            f"{counted_text(status.lag_versions or 0, 'version')} behind the key coordinator. {who} hold"
            f"{'s' if len(mark.holders) == 1 else ''} the mark back: check the consumption there.",
            (f"pinotctl consumption status {quoted}",),
        )
