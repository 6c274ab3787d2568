"""Previews the next trigger of a table, using the same data and the same functions as the trigger itself.

Nothing here changes anything, takes a lock or starts a JVM. The result applies to a trigger at this moment;
files added, changed or deleted later make a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.text import WordEnum
from controller_client.errors import ConflictError
from controller_client.filestore import FileInfo
from controller_client.publishing.lineage_size import LineageFullError
from controller_client.rest.lineage import LineageState
from minion_tasks.file_ingestion.engine.minion import MINION
from minion_tasks.file_ingestion.engine.staging import staging_root
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.planner import is_same, share_out
from minion_tasks.file_ingestion.plan.reconcile import reconcile_group
from minion_tasks.file_ingestion.plan.write import cut
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.run.resuming import (
    abandon_reason,
    check_not_held,
    is_entry_of,
    switch_abandon_reason,
)
from minion_tasks.file_ingestion.run.source_view import SourceView, check_not_empty, check_room, view_source
from minion_tasks.file_ingestion.run.types import HeldError, RunTools
from minion_tasks.file_ingestion.session.model import SETTLED, FileGroup, FileStatus, Session, SessionState
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore

DAMAGED = "damaged"
"""Shown instead of a session's state if its record cannot be read."""

_COMPARES = "compares the source with the table"
_STAGED_DELETED = "its staged segments are deleted"


class FirstAction(StrEnum):
    """What a trigger does first."""

    CLEAR = "clear"
    """Clear all sessions, then start over."""
    FINISH = "finish"
    """Finish the switch of the last session; no file is read."""
    RESUME = "resume"
    """Resume the last session: a retry."""
    JUDGE = "judge"
    """Judge the last session, which does not pass the checks, once more."""
    DISCARD = "discard"
    """Discard the last session and start over."""
    REFUSE = "refuse"
    """Do nothing, since the table was rolled back."""
    BEGIN = "begin"
    """Start a new session, since none is open."""


@dataclass(frozen=True)
class NextTrigger:
    """What the next trigger does.

    Attributes:
        action: What it does first.
        session: The last session; None if there is none, all are cleared, or its record is damaged.
        reason: Why the session is discarded, or the trigger refused.
    """

    action: FirstAction
    session: Session | None = None
    reason: str | None = None

    def sentence(self, params: FileIngestionParams, unread: int | None = None) -> str:
        """Describe the trigger in a sentence.

        Args:
            params: The task's parameters.
            unread: How many files of the session are not staged, if known.
        """
        if self.action is FirstAction.CLEAR:
            return f"clears all sessions, since clearConsistentPushState is true; then {_COMPARES}"
        if self.action is FirstAction.FINISH:
            return "finishes the switch; no file is read again"
        if self.action is FirstAction.DISCARD:
            return f"starts over: {self.reason}"
        if self.action is FirstAction.REFUSE:
            return f"does nothing, since {self.reason}; after 'pinotctl task follow', it {_COMPARES}"
        if self.action is FirstAction.JUDGE:
            return "checks what is staged once more; if the source has changed, it reads what is new first"
        if self.action is FirstAction.BEGIN or self.session is None:
            return _COMPARES
        retry = f"(retry {self.session.retry_count + 1} of {params.max_retries})"
        if unread == 0:
            return f"reads files added since, then switches, since all other files are staged {retry}"
        files = "the files" if unread is None else "1 file" if unread == 1 else f"{unread:,} files"
        is_or_are = "is" if unread == 1 else "are"
        return f"reads {files} that {is_or_are} not staged, and files added since {retry}"


def next_trigger(
    client: ControllerClient, sessions: SessionStore, params: FileIngestionParams
) -> NextTrigger:
    """Decide what a trigger does, from the last session and the task's parameters."""
    if params.clear_state:
        return NextTrigger(FirstAction.CLEAR)
    try:
        return _by_the_last_session(client, sessions, params)
    except DamagedSessionError as error:
        return NextTrigger(FirstAction.DISCARD, None, damage_reason(error))


def damage_reason(error: DamagedSessionError) -> str:
    """Explain why a session with a damaged record is discarded."""
    return f"the record of session {error.session_id} is damaged ({error.fault})"


def _by_the_last_session(
    client: ControllerClient, sessions: SessionStore, params: FileIngestionParams
) -> NextTrigger:
    latest = sessions.latest()
    if latest is None or not latest.is_open:
        try:
            check_not_held(sessions)
        except HeldError as error:
            return NextTrigger(FirstAction.REFUSE, latest, error.message)
        return NextTrigger(FirstAction.BEGIN, latest)
    if latest.state is SessionState.SWITCH:
        reason = switch_abandon_reason(client, sessions, latest)
        return NextTrigger(FirstAction.FINISH if reason is None else FirstAction.DISCARD, latest, reason)
    reason = abandon_reason(latest, params, sessions)
    if reason is not None:
        return NextTrigger(FirstAction.DISCARD, latest, reason.removeprefix("a new run began: "))
    if latest.state is SessionState.REJECTED:
        return NextTrigger(FirstAction.JUDGE, latest)
    return NextTrigger(FirstAction.RESUME, latest)


class Fate(WordEnum):
    """What happens to one file of an open session."""

    KEPT = "kept"
    """It is staged and stays staged."""
    KEPT_REWRITTEN = "kept_rewritten"
    """It is staged and stays staged; the next session ingests the rewritten version."""
    SKIPPED = "skipped"
    """The session continues without it."""
    READ = "to_read"
    """It is not staged yet."""
    READ_REWRITTEN = "to_read_rewritten"
    """It is not staged yet and is read in its current version."""
    READ_AGAIN = "to_read_again"
    """It is staged, but in a segment with a file that was deleted."""
    DROPPED = "dropped"
    """It was deleted from the source and is removed from the session with its segments."""
    JOINS = "joining"
    """It is not in the session yet and is added."""


@dataclass(frozen=True)
class SessionFate:
    """What happens to the files of an open session, in the order of the session."""

    files: tuple[tuple[str, Fate], ...]

    def counts(self) -> dict[str, int]:
        """Count the files of each fate."""
        counted = Counter(fate for _, fate in self.files)
        return {fate.value: counted[fate] for fate in Fate if counted[fate]}


@dataclass(frozen=True)
class Preview:
    """The plan of the next trigger.

    Attributes:
        next: What it does first.
        view: The current source and table.
        fate: What happens to the files of the session that it resumes.
        to_read: Files that it reads.
        subtasks: Number of subtasks; None if only the run can determine it.
        comes_empty: Whether it builds an empty segment, since Pinot before 1.0 cannot replace segments with
            nothing.
        replaced: Segments that are replaced if all files can be read.
        conflict: Why the segments cannot be replaced.
    """

    next: NextTrigger
    view: SourceView
    fate: SessionFate | None
    to_read: tuple[FileInfo, ...]
    subtasks: int | None
    comes_empty: bool
    replaced: tuple[str, ...]
    conflict: str | None = None

    @property
    def not_staged(self) -> int:
        """Number of files that it reads of the session that it resumes."""
        reads = (Fate.READ, Fate.READ_REWRITTEN, Fate.READ_AGAIN)
        return sum(fate in reads for _, fate in self.fate.files) if self.fate else 0

    @property
    def bytes_to_read(self) -> int:
        """Total size of the files that it reads."""
        return sum(file.size_bytes for file in self.to_read)


def preview(
    tools: RunTools, sessions: SessionStore, params: FileIngestionParams, table: TableName
) -> Preview:
    """Inspect the session, source and table, and plan what the next trigger would do.

    Raises:
        SourceError: The source cannot be listed, or the trigger would reject it (see `check_not_empty`).
    """
    now = next_trigger(tools.client, sessions, params)
    view = view_source(tools, table, params, staging_root(params, tools.client))
    session = now.session
    # Only a run starts Spark, so the number of subtasks is unknown.
    slots = tools.engine.slots(params) if tools.engine.name_of(params) == MINION else None
    groups: list[FileGroup] | None = None
    try:
        # Finishing reads no file from the source, which may be empty by now.
        if now.action is FirstAction.FINISH and session is not None:
            kept = tuple((uri, Fate.KEPT) for uri in sorted(Publication.of(sessions, session).staged_uris))
            return Preview(now, view, SessionFate(kept), (), 0, False, tuple(sessions.read_from(session)))
        if now.action in (FirstAction.RESUME, FirstAction.JUDGE) and session is not None:
            groups = list(sessions.groups(session))
    except DamagedSessionError as error:
        now = NextTrigger(FirstAction.DISCARD, None, damage_reason(error))
    check_not_empty(view, params)
    if groups is not None:
        return plan_retry(now, view, groups, params, slots=slots)
    empty = params.atomic and not view.plan.is_nothing and not view.plan.to_read
    tasks = None
    if slots is not None:
        sizes = _group_sizes([], view.plan.to_read, params, slots)
        tasks = len(share_out(sizes, params.max_tasks)) + empty
    conflict: str | None = None
    try:
        check_room(tools.store, table, params, view.plan)
    except LineageFullError as error:
        conflict = error.message
    return Preview(now, view, None, view.plan.to_read, tasks, empty, view.plan.replaced, conflict)


def plan_retry(
    now: NextTrigger,
    view: SourceView,
    groups: Sequence[FileGroup],
    params: FileIngestionParams,
    *,
    slots: int | None,
) -> Preview:
    """Plan a retry of a session, as the retry itself would.

    Args:
        now: The trigger that resumes the session.
        view: The current source and table.
        groups: All groups of the session.
        params: The task's parameters.
        slots: How many subtasks can run in parallel; None if unknown.
    """
    after = [reconcile_group(group, view.listed) for group in groups]
    new = view.joining(after)
    fates = [fate for before, then in zip(groups, after, strict=True) for fate in _fates(before, then, view)]
    fates += [(file.uri, Fate.JOINS) for file in new]
    left = [entry for group in after for entry in group.entries]
    unread = [entry.file for entry in left if entry.status not in SETTLED]
    empty = params.atomic and not left and not new
    tasks = None
    if slots is not None:
        sizes = _group_sizes(after, new, params, slots)
        if empty and not any(group.empty_segment for group in after):
            sizes[len(after)] = 0
        tasks = len(share_out(sizes, params.max_tasks))
    # The segments to replace are determined when all files are staged; currently it would be these.
    staged = {entry.file.uri for entry in left if entry.status is FileStatus.STAGED}
    staged |= {file.uri for file in (*unread, *new)}
    conflict: str | None = None
    replaced: tuple[str, ...] = ()
    try:
        replaced = tuple(view.replaced_by(staged))
    except ConflictError as error:
        conflict = error.message
    return Preview(
        next=now,
        view=view,
        fate=SessionFate(tuple(fates)),
        to_read=(*unread, *new),
        subtasks=tasks,
        comes_empty=empty,
        replaced=replaced,
        conflict=conflict,
    )


def _fates(before: FileGroup, after: FileGroup, view: SourceView) -> Iterable[tuple[str, Fate]]:
    then = {entry.number: entry for entry in after.entries}
    for entry in before.entries:
        uri, left = entry.file.uri, then.get(entry.number)
        if left is None:
            yield uri, Fate.DROPPED
            continue
        rewritten = not is_same(entry.file, view.listed[uri])
        if left.status is FileStatus.STAGED:
            yield uri, Fate.KEPT_REWRITTEN if rewritten else Fate.KEPT
        elif left.status is FileStatus.SKIPPED:
            yield uri, Fate.SKIPPED
        elif entry.status is FileStatus.STAGED:
            yield uri, Fate.READ_AGAIN
        else:
            yield uri, Fate.READ_REWRITTEN if rewritten else Fate.READ


def _group_sizes(
    groups: Sequence[FileGroup], new: Sequence[FileInfo], params: FileIngestionParams, slots: int
) -> dict[int, int]:
    """Bytes of each group that has files to read, including the groups that new files will form."""
    sizes = {each.number: each.source_bytes for each in groups if not each.is_settled}
    for offset, part in enumerate(cut(new, params, slots)):
        sizes[len(groups) + offset] = sum(file.size_bytes for file in part)
    return sizes


@dataclass(frozen=True)
class Clearing:
    """The effect of clearing on one session.

    Attributes:
        state: Its state; ``damaged`` if its record cannot be read.
        abandoned: Whether it is abandoned.
        effect: What clearing does to it, in words.
    """

    session_id: str
    state: str
    abandoned: bool
    effect: str


def preview_clear(client: ControllerClient, sessions: SessionStore) -> list[Clearing]:
    """Describe what `Cleaning.clear_all` would do, session by session, oldest first."""
    return [_clearing(client, sessions, session_id) for session_id in sessions.ids()]


def _clearing(client: ControllerClient, sessions: SessionStore, session_id: str) -> Clearing:
    try:
        session = sessions.load(session_id)
    except DamagedSessionError:
        effect = _switch_effect(client, sessions.table, session_id, None)
        return Clearing(session_id, DAMAGED, False, effect)
    if not session.is_open:
        effect = "its record is deleted"
    elif session.state is not SessionState.SWITCH:
        effect = _STAGED_DELETED
    else:
        effect = _switch_effect(client, session.table, session_id, session.entry_id)
    return Clearing(session_id, session.state.value, session.abandoned, effect)


def _switch_effect(client: ControllerClient, table: TableName, session_id: str, entry_id: str | None) -> str:
    for entry in client.lineage.list(table):
        if is_entry_of(entry, session_id, entry_id) and entry.state is LineageState.IN_PROGRESS:
            return f"its switch is reverted, the table keeps serving its current segments; {_STAGED_DELETED}"
        if is_entry_of(entry, session_id, entry_id) and entry.state is LineageState.COMPLETED:
            return f"its switch is already completed and stays; {_STAGED_DELETED}"
    return f"its switch has not started and will not start; {_STAGED_DELETED}"
