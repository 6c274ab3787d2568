"""A table's state compared to a dictionary: in any order of events, each row has its first versions."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL
from controller_client.upsert.update_message import Events, VersionEnd, decode, encode_end, encode_events
from server_hooks.upsert import table_state
from server_hooks.upsert.events import EventColumns, earlier
from server_hooks.upsert.first_versions import Changes
from server_hooks.upsert.offset_runs import OffsetRuns
from server_hooks.upsert.partition import Complete, Rows
from server_hooks.upsert.sealed_rows import SealedRows, map_column
from server_hooks.upsert.table_state import UpsertTableState
from server_hooks.upsert.updates_log import Message, UpdatesLog
from tests.unit.fake_clock import FakeClock
from tests.unit.server_hooks.upsert.segment_files import write_segment

_PARTITION = 0
_MAX_ROWS = 60


class MemoryPart:
    """A consuming segment with its offsets in a list that the test extends."""

    def __init__(self, name: str, sequence: int, start: int) -> None:
        self.name, self.sequence, self.first, self.position = name, sequence, start, start
        self.indexed: list[int] = []
        self.end_offset = start
        self._runs = OffsetRuns()
        self._columns = np.full((2, _MAX_ROWS), NIL, np.int64)

    @property
    def last(self) -> int:
        return self._runs.last

    def columns(self) -> NDArray[np.int64]:
        """Return the columns as queries see them, including rows that are not looked up yet."""
        return self._columns[:, : len(self.indexed)]

    def refresh(self) -> None:
        self.position = self.end_offset
        self._runs.extend(np.array(self.indexed[self._runs.count :], np.int64))

    def apply(self, events: EventColumns) -> NDArray[np.bool_]:
        rows = self._runs.rows(events.offsets)
        for row, version, deleted in zip(rows, events.versions, events.deleted, strict=True):
            if row >= 0:
                cell = self._columns[int(deleted), row : row + 1]
                cell[:] = earlier(cell, np.array([version]))
        return rows >= 0

    def copy_versions(
        self, offsets: NDArray[np.int64], froms: NDArray[np.int64], untils: NDArray[np.int64]
    ) -> None:
        raise AssertionError("a consuming segment follows no other copy")

    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        froms, untils = self._columns[:, : self._runs.count]
        return self._runs.offsets(), froms, untils

    def end(self) -> None:
        """Do nothing: this test does not notify queries."""


class NotifiedVersions:
    """The columns of a sealed segment as queries are notified of them."""

    def __init__(self, folder: Path) -> None:
        self.columns = [
            map_column(folder, column, mode="r").astype(np.int64) for column in (VALID_FROM, VALID_UNTIL)
        ]
        self.has_ended = False

    def wrote(self, changes: Changes) -> None:
        assert not self.has_ended
        begin, end, last = 0, changes.inserted, len(changes.rows)
        befores = []
        for column, (first, after) in zip(self.columns, ((begin, end), (end, last)), strict=True):
            rows, versions = changes.rows[first:after], changes.versions[first:after]
            assert len(np.unique(rows)) == len(rows)
            befores += column[rows].tolist()
            column[rows] = versions
        assert changes.lower == any(before != NIL for before in befores)

    def end(self) -> None:
        self.has_ended = True


class TableMachine(RuleBasedStateMachine):
    """One partition: rows arrive and are sealed; the server restarts with or without its disk."""

    @initialize()
    def begin(self) -> None:
        self.disk = Path(tempfile.mkdtemp())
        self.topic: list[Message] = []
        self.read = self.max_read = 0
        self.version = 0
        self.produced = 0
        self.copies = 0
        self.sealed: dict[str, list[int]] = {}
        self.folders: dict[str, Path] = {}
        self.rows: dict[str, SealedRows] = {}
        self.restarted = False
        self.flushes = 0
        self._start()

    def _start(self) -> None:
        self.notified: dict[str, NotifiedVersions] = {}
        self.state = UpsertTableState(self.disk / "state", FakeClock())
        self.state.follow([_PARTITION])
        self.rows = {}
        self.former: list[tuple[SealedRows, NotifiedVersions, int]] = []
        self.former_part: MemoryPart | None = None
        self.read = self._taken_from(self.state.next_offsets()[_PARTITION])
        for name in self.sealed:
            self._load(name)
        start = self._sealed_end()
        self.part = MemoryPart(f"s{len(self.sealed)}", len(self.sealed), start)
        self.state.mark()  # the table's thread asks for it at any time
        self.state.attach_consuming(_PARTITION, self.part)
        self.state.count_now(_PARTITION)

    def _load(self, name: str) -> None:
        self._becomes_former(name)
        self.notified[name] = NotifiedVersions(self.folders[name])
        self.rows[name] = SealedRows(name, self.folders[name], len(self.sealed[name]), self.notified[name])
        self.state.attach_sealed(_PARTITION, self.rows[name])

    def _becomes_former(self, name: str) -> None:
        """Queries that still use it see later writes."""
        if name in self.rows:
            self.former.append((self.rows.pop(name), self.notified.pop(name), 0))

    def _taken_from(self, offset: int) -> int:
        return sum(each[0] < offset for each in self.topic)

    def _sealed_end(self) -> int:
        return max((rows[-1] + 1 for rows in self.sealed.values() if rows), default=0)

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            shutil.rmtree(self.disk)

    @rule(
        back=st.lists(st.integers(-4, 30), min_size=1, max_size=8), deleted=st.booleans(), reads=st.booleans()
    )
    def coordinator_sends_events(self, back: list[int], deleted: bool, reads: bool) -> None:
        """Send events about existing rows and some that do not exist yet."""
        offsets = [offset for each in back if 0 <= (offset := self.part.end_offset - each) < _MAX_ROWS]
        rows = np.array(offsets, np.int64)
        for value in encode_events(Events(self.version, rows, np.full(len(rows), deleted))):
            self._send(value)
        if reads:
            self.server_reads(len(self.topic))

    @rule()
    def coordinator_ends_a_version(self) -> None:
        self._send(encode_end(VersionEnd(self.version, 0, 0, 10 * self.version)))
        self.version += 1

    def _send(self, value: bytes) -> None:
        self.topic.append((len(self.topic), value, decode(value, where="the topic")))

    @rule(count=st.integers(1, 5))
    def server_reads(self, count: int) -> None:
        self.state.take(_PARTITION, self.topic[self.read : self.read + count])
        self.read = min(len(self.topic), self.read + count)

    @rule(dropped=st.lists(st.sampled_from([False, False, False, True]), min_size=1, max_size=6))
    def pinot_indexes_rows_or_drops_them(self, dropped: list[bool]) -> None:
        for each in dropped[: _MAX_ROWS - self.part.end_offset]:
            if not each:
                self.part.indexed.append(self.part.end_offset)
            self.part.end_offset += 1

    @rule()
    def server_refreshes(self) -> None:
        self.state.refresh()

    @precondition(lambda self: self.part.indexed)
    @rule(more=st.booleans(), ahead=st.booleans())
    def segment_is_sealed(self, more: bool, ahead: bool) -> None:
        """Another server seals it and may have indexed more; the next segment may be queried before that."""
        name, rows = self.part.name, list(self.part.indexed)
        if more and self.part.end_offset < _MAX_ROWS:
            rows.append(self.part.end_offset)
        self.sealed[name] = rows
        self._new_copy(name)
        self._load(name)
        self.rows_have_their_first_versions()
        self.former_part, self.flushes = self.part, 0
        self.part = MemoryPart(f"s{len(self.sealed)}", len(self.sealed), rows[-1] + 1)
        if ahead:
            self.pinot_indexes_rows_or_drops_them([False])
        self.state.attach_consuming(_PARTITION, self.part)

    def _new_copy(self, name: str) -> None:
        self.copies += 1
        self.folders[name] = write_segment(self.disk / f"copy{self.copies}", self.sealed[name])

    @precondition(lambda self: self.sealed)
    @rule(data=st.data(), is_reload=st.booleans())
    def segment_is_reloaded(self, data: st.DataObject, is_reload: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.sealed)))
        if is_reload:
            self.copies += 1
            self.folders[name] = Path(shutil.copytree(self.folders[name], self.disk / f"copy{self.copies}"))
        else:
            # Moved to another server, and back from the deep store.
            self.state.detach([name])
            self._new_copy(name)
        self._load(name)

    @rule()
    def server_flushes(self) -> None:
        self.state.flush()
        former = [(rows, notified, flushes + 1) for rows, notified, flushes in self.former]
        assert all(notified.has_ended == (flushes > 1) for _, notified, flushes in former)
        self.former = [each for each in former if not each[1].has_ended]
        self.flushes += 1
        if self.flushes > 1:
            self.former_part = None

    @rule(loses_log=st.booleans(), loses_segments=st.booleans(), cut=st.none() | st.integers(0, 10_000))
    def server_dies(self, loses_log: bool, loses_segments: bool, cut: int | None) -> None:
        for file in (self.disk / "state").glob("*/*.open"):
            content = file.read_bytes()
            file.write_bytes(content if cut is None else content[: cut % (len(content) + 1)])
        if loses_log:
            shutil.rmtree(self.disk / "state")
        if loses_segments:
            for name in self.sealed:
                self._new_copy(name)
        self.restarted = True
        self._start()

    def _expected(self, messages: int) -> dict[tuple[bool, int], int]:
        """Return the first version by kind and offset in a number of messages of the topic."""
        found: dict[tuple[bool, int], int] = {}
        for _, _, message in self.topic[:messages]:
            if isinstance(message, Events):
                for offset, deleted in zip(message.offsets.tolist(), message.deleted.tolist(), strict=True):
                    found.setdefault((deleted, offset), message.version)
        return found

    @invariant()
    def rows_have_their_first_versions(self) -> None:
        if not hasattr(self, "state"):
            return
        # Versions written into a sealed segment remain even if the log loses them.
        self.max_read = max(self.max_read, self.read)
        now, once = self._expected(self.read), self._expected(self.max_read)
        consuming = [each for each in (self.part, self.former_part) if each is not None]
        parts: list[Rows] = [*consuming, *self.rows.values(), *(rows for rows, *_ in self.former)]
        for rows in parts:
            for offset, *versions in zip(*rows.values(), strict=True):
                for deleted, version in zip((False, True), versions, strict=True):
                    key = (deleted, int(offset))
                    allowed = (
                        {now.get(key, NIL)} if rows in consuming else {now.get(key, NIL), once.get(key, NIL)}
                    )
                    assert version in allowed, f"offset {offset}: {version}, not one of {allowed}"

    @invariant()
    def queries_are_notified_of_all_writes(self) -> None:
        if not hasattr(self, "state"):
            return
        present = [(self.rows[name], notified) for name, notified in self.notified.items()]
        for rows, notified in [*present, *((rows, notified) for rows, notified, _ in self.former)]:
            _, *columns = rows.values()
            for column, expected in zip(columns, notified.columns, strict=True):
                assert column.tolist() == expected.tolist()

    @invariant()
    def the_mark_covers_only_rows_on_this_server(self) -> None:
        if not hasattr(self, "state"):
            return
        found = self.state.mark()
        needed, ended = 0, NIL
        for _, _, message in self.topic[: self.read]:
            if isinstance(message, Events):
                needed = max(needed, int(message.offsets.max(initial=-1)) + 1)
            elif needed <= self.part.position:
                ended = message.version
        assert found.version <= ended
        if not self.restarted:
            assert found.version == ended


TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=settings().max_examples // 4, stateful_step_count=40)


def test_the_mark_goes_back_only_where_allowed(tmp_path: Path) -> None:
    """A partition that is added later has no complete version yet."""
    state = UpsertTableState(tmp_path, FakeClock())
    state.follow([0])
    ends = [(number, encode_end(VersionEnd(number, 0, 0, 10 * number))) for number in range(3)]
    state.take(0, [(number, value, decode(value, where="the topic")) for number, value in ends])
    assert state.mark() == Complete(2, 20)
    state.follow([0, 1])
    assert state.mark() == Complete(2, 20)
    state.allow_lower_mark()
    assert state.mark().version == NIL


def test_a_version_read_before_its_rows_are_consumed_here_waits_for_them(tmp_path: Path) -> None:
    """The log of a server that was restarted has it; its consuming segment comes later."""
    values = [
        *encode_events(Events(0, np.array([5]), np.array([False]))),
        encode_end(VersionEnd(0, 0, 0, 7)),
    ]
    before = UpsertTableState(tmp_path, FakeClock())
    before.follow([0])
    before.take(0, [(number, each, decode(each, where="the topic")) for number, each in enumerate(values)])
    before.sync()
    state = UpsertTableState(tmp_path, FakeClock())
    state.follow([0])
    assert state.mark() == Complete(0, 7)
    state.count_now(0)
    assert state.mark().version == NIL
    part = MemoryPart("s0", 0, 0)
    state.attach_consuming(0, part)
    part.end_offset = 5
    state.refresh()
    assert state.mark().version == NIL
    part.end_offset = 6
    state.refresh()
    assert state.mark() == Complete(0, 7)


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "lagging"])
def test_a_segment_that_is_never_replaced(tmp_path: Path, is_whole: bool) -> None:
    """Its build failed, so Pinot serves it from memory, and seals the segments after it."""
    state = UpsertTableState(tmp_path / "state", FakeClock())
    state.follow([0])
    state.count_now(0)
    parts = [MemoryPart(f"s{number}", number, 10 * number) for number in range(3)]
    for part in parts:
        state.attach_consuming(0, part)
        part.end_offset = part.first + 10
    parts[0].end_offset = 10 if is_whole else 9
    # Offset 10 is of a record that cannot be decoded.
    folder = write_segment(tmp_path / "s1", range(11, 20))
    state.attach_sealed(0, SealedRows("s1", folder, 9, NotifiedVersions(folder)))
    values = [
        *encode_events(Events(0, np.array([25]), np.array([False]))),
        encode_end(VersionEnd(0, 0, 0, 7)),
    ]
    state.take(0, [(number, each, decode(each, where="the topic")) for number, each in enumerate(values)])
    state.refresh()
    assert state.mark().version == (0 if is_whole else NIL)
    parts[0].end_offset = 10
    state.refresh()
    assert state.mark() == Complete(0, 7)


def test_a_segment_is_replayed_from_the_part_of_the_log_that_can_have_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files before that are not read: one of them is damaged."""
    monkeypatch.setattr(table_state, "UpdatesLog", partial(UpdatesLog, file_bytes=1))
    state = UpsertTableState(tmp_path / "state", FakeClock())
    state.follow([0])
    state.count_now(0)
    for number, first in enumerate((0, 10)):
        (value,) = encode_events(Events(number, np.arange(first, first + 10), np.zeros(10, bool)))
        state.take(0, [(number, value, decode(value, where="the topic"))])
    early, _ = sorted((tmp_path / "state").rglob("*.log"))
    early.write_bytes(b"x" * 100)
    folder = write_segment(tmp_path / "s1", range(10, 20))
    rows = SealedRows("s1", folder, 10, NotifiedVersions(folder))
    state.attach_sealed(0, rows)
    _, froms, _ = rows.values()
    assert list(froms) == [1] * 10
