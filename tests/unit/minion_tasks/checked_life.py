"""A table's life that is checked against the rules after each trigger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant

from controller_client.errors import ConflictError, PinotPluginError, SourceError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.provenance import Provenance
from minion_tasks.file_ingestion.run.rejected import RejectedRun
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport
from minion_tasks.file_ingestion.session.model import FileStatus, Session, SessionState
from tests.unit.minion_tasks.happenings import Happenings, ProcessDiedError, name_of, rows_of
from tests.unit.minion_tasks.session_rules import (
    APPEND,
    UPDATE,
    Expected,
    Ledger,
    Plan,
    TableModel,
    Versions,
    cannot_plan,
    cannot_replace,
    expected_plan,
    expected_table,
    explain,
)
from tests.unit.minion_tasks.session_world import World


class CheckedLife(RuleBasedStateMachine):
    """A table, its source, and checks after each trigger; the subclass defines what happens."""

    params: FileIngestionParams

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.world.on_listed = self._on_listed
        self.table = TableModel()
        self.old_versions: dict[str, list[int]] = {}
        self.expected: Expected | None = None
        self.expected_of_rejected = False
        """A later trigger may resume such a session, and add files to it."""
        self.at_listing: list[Ledger] = []
        # A file rewritten before that, during a subtask of an earlier run, is listed in its new version.
        self.rewritten_after_listing: set[str] = set()
        self.reads_before = 0
        self.uri_of_number: dict[tuple[str, int], str] = {}
        self.of_dropped_tables: set[str] = set()
        self.foreign = 0

    def teardown(self) -> None:
        self.world.close()

    def _trigger(self, happenings: Happenings) -> None:
        before = self.world.sessions.latest()
        self.at_listing.clear()
        self.reads_before = 0
        smooth = happenings.is_smooth
        report: RunReport | None = None
        error: PinotPluginError | None = None
        try:
            report = self.world.trigger(self.params, happenings)
        except ProcessDiedError:
            explain("the run was killed")
            smooth = False
        except PinotPluginError as raised:
            error = raised
        explain(f"{report.outcome if report else error!r}"[:300])
        after = self.world.sessions.latest()
        if before is not None and before.state is SessionState.SWITCH:
            self._after_switch(before)
        if not self.world.listings:
            if smooth:
                assert report is not None
                assert report.outcome is RunOutcome.SWITCH_FINISHED
                assert not self.world.reads
            return
        (listed,) = self.world.listings
        resumed = (
            before is not None
            and before.is_open
            and before.state in (SessionState.IN_PROGRESS, SessionState.REJECTED)
            and bool(self.at_listing)
            and after is not None
            and after.session_id == before.session_id
        )
        if smooth and before is not None and before.is_open and self.world.source:
            assert resumed is self._may_resume(before)
        start = self.at_listing[0] if resumed else Ledger()
        plan = expected_plan(self.params.mode, start, listed, self.table)
        read = {name for name, _ in self.world.reads[self.reads_before :]}
        explain(f"{plan=} {read=}")
        assert read <= plan.to_read, "a file was read that is staged or not part of the plan"
        if after is not None and (after.is_open or after != before):
            self._check_kept(after, plan, listed, resumed)
        if smooth:
            self._check_smooth(plan, listed, read, resumed, before, after, report, error)
        if after is not None and after != before:
            self._expect(after, listed)
        if after is not None and after.state is SessionState.DONE and after != before:
            self._settle_expected(after)

    def _may_resume(self, session: Session) -> bool:
        """Whether a trigger may resume a session."""
        return (
            (session.state is SessionState.REJECTED or session.retry_count < self.params.max_retries)
            and session.state in (SessionState.IN_PROGRESS, SessionState.REJECTED)
            and (session.mode, session.atomic) == (self.params.mode, self.params.atomic)
            and session.session_id not in self.of_dropped_tables
            and not self.params.clear_state
        )

    def _check_smooth(
        self,
        plan: Plan,
        listed: Versions,
        read: set[str],
        resumed: bool,
        before: Session | None,
        after: Session | None,
        report: RunReport | None,
        error: PinotPluginError | None,
    ) -> None:
        """Check a trigger whose subtasks each ran once and to their end, so that the result is certain."""
        mode, params = self.params.mode, self.params
        if not listed and mode in (APPEND, UPDATE):
            assert isinstance(error, SourceError)
            return
        if cannot_plan(mode, listed, self.table):
            assert isinstance(error, ConflictError)
            assert not read
            return
        if plan.is_nothing and not resumed:
            assert error is None
            assert report is not None
            assert report.outcome is RunOutcome.NOTHING_NEW
            return
        assert after is not None
        assert read == plan.to_read
        failed, skipped = set[str](), set(plan.skipped)
        for name in plan.to_read:
            fault = self.world.faults.get(name)
            if name in self.rewritten_after_listing:
                failed.add(name)
            elif fault == "no header" and params.skip_unreadable:
                skipped.add(name)
            elif fault is not None:
                failed.add(name)
        good = {name: listed[name] for name in plan.to_read.difference(failed, skipped)}
        staged = {**plan.kept, **good}
        if failed:
            assert isinstance(error, FilesFailedError)
        if not (failed and params.atomic) and cannot_replace(mode, staged, listed, self.table):
            assert error is not None
        elif failed and params.atomic:
            kept = after.retry_count < params.max_retries
            assert after.is_open is kept
            if kept:
                ledger = self._ledger(after)
                assert ledger.staged == staged
                assert ledger.skipped.keys() == skipped
                assert ledger.unread == failed
        else:
            assert after.state is SessionState.DONE
            assert failed or error is None
            self._expect(after, listed)
            assert self.expected is not None
            assert dict(self.expected.table.files) == dict(
                expected_table(mode, staged, listed, self.table, Ledger()).files
            )
        assert after.is_open or len(self.world.sessions.ids()) <= 2
        self._check_retries(before if resumed else None, after, read)

    def _check_retries(self, resumed: Session | None, after: Session, read: set[str]) -> None:
        """Check the count of retries, which a session that is only judged again keeps."""
        retries = 0 if resumed is None else resumed.retry_count + 1
        if resumed is not None and resumed.state is SessionState.REJECTED and not read:
            retries = after.retry_count
        assert after.retry_count == retries
        assert len(after.attempts_ms) == retries + 1

    def _check_kept(self, after: Session, plan: Plan, listed: Versions, resumed: bool) -> None:
        """Check, whatever was killed, that staged files stay staged and match the listing."""
        if after.abandoned or (not resumed and after.state is SessionState.INIT):
            return
        ledger = self._ledger(after)
        if not resumed:
            assert not plan.kept
        for name, version in plan.kept.items():
            assert ledger.staged.get(name) == version, "staged work was lost"
        for name, version in ledger.staged.items():
            assert name in plan.kept or version == listed.get(name, version)

    def _on_listed(self) -> None:
        session = self.world.sessions.latest()
        self.reads_before = len(self.world.reads)
        self.rewritten_after_listing = set(self.world.happenings.rewritten)
        if session is not None and session.is_open:
            self.at_listing.append(self._ledger(session))

    def _expect(self, session: Session, listed: Versions) -> None:
        """Remember the expected table of a session in REJECTED, SWITCH or DONE."""
        is_new = self.expected is None or self.expected.session_id != session.session_id
        is_new = is_new or self.expected_of_rejected
        if session.state is SessionState.REJECTED or (
            session.state in (SessionState.SWITCH, SessionState.DONE) and is_new
        ):
            self.expected_of_rejected = session.state is SessionState.REJECTED
            ledger = self._ledger(session)
            table = expected_table(session.mode, ledger.staged, listed, self.table, ledger)
            self.expected = Expected(table, session.session_id, self.table.foreign)

    @property
    def is_rejected(self) -> bool:
        """Whether the last session does not pass the checks."""
        latest = self.world.sessions.latest()
        return latest is not None and latest.is_open and latest.state is SessionState.REJECTED

    def _decide(self, happenings: Happenings, *, publishes: bool) -> None:
        """Publish or discard the rejected session, as an operator would."""
        before = self.world.sessions.latest()
        assert before is not None
        began_with = (before.mode, before.atomic) == (self.params.mode, self.params.atomic)
        fits = began_with and before.session_id not in self.of_dropped_tables

        def decide(*given: Any) -> object:
            run = RejectedRun(*given)
            return run.publish(before.session_id) if publishes else run.discard(before.session_id)

        try:
            self.world.run(self.params, happenings, decide)
        except ProcessDiedError:
            explain("the operator's command was killed")
        except ConflictError as error:
            explain(f"{error!r}")
            assert publishes
            assert not fits
            assert self.is_rejected
        else:
            after = self.world.sessions.latest()
            assert after is not None
            assert (after.state is SessionState.DONE) is publishes
            assert after.abandoned is not publishes
        self._after_switch(before)

    def _after_switch(self, before: Session) -> None:
        """Apply the expected table of an earlier trigger's session, if it is done."""
        try:
            now = self.world.sessions.load(before.session_id)
        except PinotPluginError:
            return
        if now.state is SessionState.DONE:
            self._settle_expected(now)

    def _settle_expected(self, session: Session) -> None:
        if self.expected is None or self.expected.session_id != session.session_id:
            return
        since = self.table.foreign - self.expected.foreign_then
        self.table = replace(self.expected.table, foreign=self.expected.table.foreign | since)
        self.expected = None

    def _ledger(self, session: Session) -> Ledger:
        staged, skipped, unread, together = {}, {}, set(), set()
        if session.state is SessionState.INIT:
            return Ledger()
        for group in self.world.sessions.groups(session):
            of_number = {}
            for entry in group.entries:
                name = name_of(entry.file.uri)
                of_number[entry.number] = name
                if entry.status is FileStatus.STAGED:
                    staged[name] = entry.file.modified_ms
                elif entry.status is FileStatus.SKIPPED:
                    skipped[name] = entry.file.modified_ms
                else:
                    unread.add(name)
            together |= {
                frozenset(of_number[n] for n in build.files) for build in group.builds if build.files
            }
        return Ledger(staged, skipped, frozenset(unread), frozenset(together))

    @invariant()
    def queries_see_the_old_or_the_new(self) -> None:
        latest = self.world.sessions.latest()
        if latest is not None and latest.state is SessionState.SWITCH and latest.is_open:
            if not latest.atomic:
                return  # one by one, so nothing is guaranteed
            applied = self.expected is not None and self._segments_of(latest) in self.world.completed
            table = self.expected.table if applied and self.expected is not None else self.table
            foreign = self.table.foreign
            if applied and self.expected is not None:
                foreign = self.expected.table.foreign | (foreign - self.expected.foreign_then)
        else:
            table, foreign = self.table, self.table.foreign
        seen = sorted(row for content in self.world.table.values() for row in content.rows)
        assert seen == sorted(row for each in table.files.items() for row in rows_of(*each))
        ours: dict[str, int] = {}
        for name, content in self.world.table.items():
            provenance = Provenance.from_custom_map(content.custom, segment=name)
            if provenance is None:
                assert name in foreign
                continue
            for each in provenance.inputs:
                assert ours.setdefault(name_of(each.uri), each.modified_ms) == each.modified_ms
        assert ours == dict(table.files)
        assert foreign <= self.world.table.keys()

    def _seen(self) -> TableModel:
        contents = self.world.contents()
        together = {frozenset(map(name_of, uris)) for uris in contents.uris_of.values() if uris}
        files = {name_of(uri): each.modified_ms for uri, each in contents.files.items()}
        return TableModel(files, frozenset(together), frozenset(contents.foreign))

    def _open_ledger(self) -> Ledger:
        latest = self.world.sessions.latest()
        return self._ledger(latest) if latest is not None and latest.is_open else Ledger()

    def _segments_of(self, session: Session) -> tuple[str, ...]:
        found = [
            (group.empty_segment, segment.name)
            for group in self.world.sessions.groups(session)
            for segment in group.segments
        ]
        return tuple(n for empty, n in found if not empty) or tuple(n for _, n in found[:1])

    @invariant()
    def a_session_that_goes_on_has_all_that_it_staged(self) -> None:
        latest = self.world.sessions.latest()
        if latest is None or not latest.is_open or latest.state is SessionState.INIT:
            return
        for group in self.world.sessions.groups(latest):
            for segment in group.segments:
                assert {segment.tar_uri, segment.metadata_uri} <= self.world.staged.keys()

    @invariant()
    def a_number_is_one_file_for_good(self) -> None:
        latest = self.world.sessions.latest()
        if latest is None or latest.state is SessionState.INIT:
            return
        found = [entry for group in self.world.sessions.groups(latest) for entry in group.entries]
        assert len({entry.number for entry in found}) == len(found)
        assert len({entry.file.uri for entry in found}) == len(found)
        for entry in found:
            known = self.uri_of_number.setdefault((latest.session_id, entry.number), entry.file.uri)
            assert known == entry.file.uri
            assert entry.number < latest.numbers
