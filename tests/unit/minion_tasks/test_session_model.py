"""Random lives of a table, checked against a naive implementation of the rules.

The run, the subtasks' loop, staging, ledger and plan are real (``session_world`` lists what is not). The
model knows versions of files but no segments, groups or numbers. For each trigger it determines which files
must be read and what queries must see afterwards.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import SessionState
from tests.unit.minion_tasks.checked_life import CheckedLife
from tests.unit.minion_tasks.happenings import SOURCE, STAGING, Content, Happenings
from tests.unit.minion_tasks.session_rules import TableModel, names

subtask_fates = st.lists(st.sampled_from(["ok", "ok", "lost", "twice"]) | st.integers(1, 9), max_size=3)
rough = st.builds(
    Happenings,
    run_dies_at=st.none() | st.integers(1, 40),
    run_dies_waiting=st.sampled_from([False, False, False, True]),
    subtasks=subtask_fates,
    leftovers_at=st.none() | st.integers(1, 12),
    rewritten=st.sets(names, max_size=1),
    lock_lost=st.sampled_from([False, False, False, True]),
    quota_exceeded=st.sampled_from([False, False, False, True]),
    failed_checks=st.sampled_from([(), (), ("too few rows",)]),
    no_minion=st.sampled_from([False, False, False, True]),
)
faults = st.sampled_from(["row 7 is wrong", "no header"])
retries = st.sampled_from([3, 3, 2, 1, 0])
own_modes = st.runner().flatmap(lambda life: st.sampled_from(life.MODES))


class TableLife(CheckedLife):
    """What happens to the table's configuration and source, and its triggers."""

    MODES: tuple[str, ...] = (
        "append",
        "append at once",
        "update at once",
        "sync",
        "sync at once",
        "swap",
        "swap one to one",
    )

    @initialize(mode=own_modes, retries=retries, skips=st.booleans(), files=st.sets(names))
    def begin(self, mode: str, retries: int, skips: bool, files: set[str]) -> None:
        self.configure(mode, retries, skips)
        for name in sorted(files):
            self.write(name)

    @precondition(lambda self: len(self.MODES) > 1)
    @rule(mode=own_modes, retries=retries, skips=st.booleans())
    def change_the_configuration(self, mode: str, retries: int, skips: bool) -> None:
        self.configure(mode, retries, skips)

    def configure(self, mode: str, retries: int, skips: bool) -> None:
        configs = {
            "inputDirURI": SOURCE,
            "inputFormat": "csv",
            "outputDirURI": STAGING,
            "taskMaxNumFilesPerTask": "3",
            "tableMaxNumTasks": "2",
            "skipFileIfFailToInitReader": str(skips),
        }
        if "at once" in mode or "swap" in mode:
            configs["consistentPushMaxRetries"] = str(retries)
        if "at once" in mode:
            configs["consistentPushEnabled"] = "true"
        if "update" in mode:
            configs["replaceChangedFiles"] = "true"
        if "swap" in mode:
            configs["consistentPushSwapEnabled"] = "true"
        if "sync" in mode or "one to one" in mode:
            configs["enableSync"] = "true"
        if "sync" in mode or "swap" in mode:
            configs["allowEmptySource"] = "true"
        if "enableSync" not in configs:
            configs |= {"desiredSegmentSize": "70", "maxNumRecordsPerSegment": "2"}
        self.configs = configs
        self.params = FileIngestionParams.from_configs(configs)

    @rule(name=names)
    def write(self, name: str) -> None:
        if name in self.world.source:
            self.old_versions.setdefault(name, []).append(self.world.source[name])
        self.world.source[name] = next(self.world.versions)

    @rule(name=names)
    def delete(self, name: str) -> None:
        if name in self.world.source:
            self.old_versions.setdefault(name, []).append(self.world.source.pop(name))

    @rule(name=names)
    def put_back(self, name: str) -> None:
        if self.old_versions.get(name):
            self.world.source[name] = self.old_versions[name][-1]

    @rule(name=names, fault=faults)
    def corrupt(self, name: str, fault: str) -> None:
        self.world.faults[name] = fault

    @rule()
    def repair(self) -> None:
        self.world.faults.clear()

    @precondition(lambda self: self._open_ledger().known)
    @rule(number=st.integers(0, 5), change=st.sampled_from(["write", "delete", "put back"]))
    def change_a_file_of_the_session(self, number: int, change: str) -> None:
        known = sorted(self._open_ledger().known)
        name = known[number % len(known)]
        {"write": self.write, "delete": self.delete, "put back": self.put_back}[change](name)

    @precondition(lambda self: self.world.open_entry is not None)
    @rule()
    def somebody_reverts_the_switch(self) -> None:
        self.world.revert()
        self.expected = None

    @rule(what=st.sampled_from(["others push", "others push", "leftovers go on", "the table is dropped"]))
    def something_rare_happens(self, what: str) -> None:
        if what == "others push":
            name = f"foreign{self.foreign}"
            self.foreign += 1
            self.world.table[name] = Content({}, ())
            self.table = replace(self.table, foreign=self.table.foreign | {name})
        elif what == "leftovers go on":
            self.world.run_leftovers()
        else:
            self.world.create_table()
            self.of_dropped_tables.update(self.world.sessions.ids())
            self.table, self.expected = TableModel(), None

    @rule()
    def trigger(self) -> None:
        self._trigger(Happenings())

    @precondition(lambda self: self.world.source)
    @rule(number=st.integers(0, 5), fault=faults)
    def trigger_with_a_bad_file(self, number: int, fault: str) -> None:
        unread = self._open_ledger().unread.intersection(self.world.source) or self.world.source.keys()
        self.world.faults[sorted(unread)[number % len(unread)]] = fault
        self._trigger(Happenings())
        self.world.faults.clear()

    @rule(really=st.integers(0, 3))
    def trigger_and_clear(self, really: int) -> None:
        if really:
            return
        cleared = FileIngestionParams.from_configs({**self.configs, "clearConsistentPushState": "true"})
        present, self.params = self.params, cleared
        latest = self.world.sessions.latest()
        if latest is not None and latest.state is SessionState.SWITCH and latest.is_open:
            if not latest.atomic:
                self.table = self._seen()  # segments that were already added stay
            elif self._segments_of(latest) in self.world.completed:
                self._settle_expected(latest)
        self.expected = None
        try:
            self._trigger(Happenings())
        finally:
            self.params = present

    @precondition(lambda self: self.is_rejected)
    @rule(publishes=st.booleans(), run_dies_at=st.none() | st.integers(1, 12))
    def an_operator_decides(self, publishes: bool, run_dies_at: int | None) -> None:
        self._decide(Happenings(run_dies_at=run_dies_at), publishes=publishes)

    @rule(happenings=rough)
    def rough_trigger(self, happenings: Happenings) -> None:
        self._trigger(happenings)


@pytest.mark.parametrize("mode", [*((mode,) for mode in TableLife.MODES), TableLife.MODES])
def test_the_table_follows_the_rules(mode: tuple[str, ...], full: bool) -> None:
    life = type("TableLife", (TableLife,), {"MODES": mode})
    examples = settings().max_examples // (4 if full else 12)
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            # Explaining a failure would take minutes longer than finding it.
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )


def test_a_file_rewritten_during_a_subtask_of_a_killed_run_is_read_in_its_new_version() -> None:
    """The trigger waits for that subtask, in which the file fails, and then retries the file."""
    life = TableLife()
    life.begin(mode="sync at once", retries=3, skips=False, files={"a", "b"})
    life.rough_trigger(Happenings(run_dies_at=10))
    version = life.world.source["a"]
    life.rough_trigger(Happenings(rewritten={"a"}))
    assert life.world.source["a"] > version
    assert life.table.files == life.world.source
    latest = life.world.sessions.latest()
    assert latest is not None
    assert (latest.state, latest.retry_count) == (SessionState.DONE, 1)
    life.queries_see_the_old_or_the_new()
    life.teardown()
