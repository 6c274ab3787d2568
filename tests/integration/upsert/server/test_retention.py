"""Pinot's retention deletes old segments of an upsert table during queries: answers stay correct."""

from __future__ import annotations

import random

from controller_client.errors import NotAppliedError, QueryError
from controller_client.upsert.queries import UpsertQueries
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0
_SEED = 31
# From the time of the table's first row to a time beyond its retention, and after 1971.
_BACK_MS = 1_000_000_000_000
_PARTITIONS = (0, 1)

Row = tuple[int, int]


class _Watched:
    """Queries at the table's mark, and compares with what may be visible while segments are deleted.

    It queries as clients do, with the check that the broker queries all segments, because a broker does not
    query a new segment at once.
    """

    def __init__(self, table: UpsertTable, old: dict[int, int]) -> None:
        self.table = table
        self._old = old
        self._sql = f'SELECT part, "$kafkaOffset" FROM {table.name} LIMIT 1000000'
        self._queries = UpsertQueries(table.broker, table.store, mark_ttl_s=0)
        self.answers = 0

    def is_new(self, row: Row) -> bool:
        """Whether a row is younger than the retention."""
        return row[1] >= self._old[row[0]]

    def ask(self) -> None:
        """A query sees all new rows of the version, and no old row that is not in the version."""
        try:
            answer = self._queries.query(self._sql)
        except (QueryError, NotAppliedError):
            return  # the broker requested a segment that was deleted: an error, not a wrong answer
        seen = [(int(partition), int(offset)) for partition, offset in answer.result.rows]
        model = self.table.model.visible[answer.versions[self.table.full_name]]
        assert len(set(seen)) == len(seen)
        assert set(seen) <= model
        assert {row for row in model if self.is_new(row)} <= set(seen)
        self.answers += 1


def test_retention_deletes_old_segments_under_queries(make_upsert_table: MakeUpsertTable) -> None:
    chance = random.Random(_SEED)
    table = make_upsert_table(rows_per_segment=50)
    _jump(table, -_BACK_MS)
    for _ in range(8):
        _change(table, chance)
    old = {partition: len(table.readable(partition)) for partition in _PARTITIONS}
    _jump(table, _BACK_MS)
    # Fewer keys: some have their row only in old segments, and rows of old segments are replaced meanwhile.
    for _ in range(6):
        _change(table, chance, keys=40)
    table.wait_checked(table.model.coordinate())
    table.wait_sealed(6)
    watched = _Watched(table, old)
    before_segments, before_version = set(table.segments()), table.mark()
    before_rows = _wait_whole(watched, before_version)
    assert table.model.visible[before_version] <= before_rows
    _wait_asked(watched, 1)
    assert not all(watched.is_new(row) for row in table.model.visible[before_version])

    table.ask_controller(
        "GET", "periodictask/run", taskname="RetentionManager", tableName=table.name, type="REALTIME"
    )

    def gone() -> bool:
        _change(table, chance, keys=40, rows=3)
        table.wait_mark(table.model.version)
        watched.ask()
        return len(before_segments - set(table.segments())) >= 2

    wait_for(gone, f"retention to delete segments of {table.name}", _TIMEOUT_S, interval_s=0.5)
    table.wait_served()
    _wait_asked(watched, 5)

    # The current version, and the previous one, which has rows in the deleted segments.
    for version in (before_version, table.mark()):
        lost = before_rows - _wait_whole(watched, version)
        assert lost & table.model.visible[before_version]
        assert not any(watched.is_new(row) for row in lost)

    # Keys whose row was deleted return, without duplicate rows.
    table.produce(0, [f"k{number}" for number in range(60)])
    version = table.model.coordinate()
    table.wait_mark(version)
    assert len(table.model.visible[version] & _wait_whole(watched, version)) >= 60


def _jump(table: UpsertTable, step_ms: int) -> None:
    """Write a row with a new key that moves the times of the following rows."""
    table.produce(0, [f"jump{step_ms}"], ts_step=step_ms)


def _change(table: UpsertTable, chance: random.Random, *, keys: int = 60, rows: int = 15) -> None:
    for partition in _PARTITIONS:
        table.produce(partition, [f"k{chance.randrange(keys)}" for _ in range(rows)])
    table.model.coordinate()


def _wait_asked(watched: _Watched, more: int) -> None:
    """Query until this number of further queries has been answered."""
    wanted = watched.answers + more

    def asked() -> bool:
        watched.ask()
        return watched.answers >= wanted

    wait_for(asked, f"{more} answers", _TIMEOUT_S)


def _wait_whole(watched: _Watched, version: int) -> set[Row]:
    """Wait until a version shows exactly those of its rows that exist; return all existing rows.

    All rows younger than the retention must exist: a broker does not query a new segment at once.
    """
    table = watched.table
    model = table.model.visible[version]
    new = {row for row in model if watched.is_new(row)}
    kept: set[Row] = set()

    def whole() -> bool:
        kept.clear()
        try:
            kept.update(table.all_rows())
            return new <= kept and table.visible(version) == sorted(model & kept)
        except QueryError:
            return False

    wait_for(whole, f"the rows of version {version} that are kept", _TIMEOUT_S)
    return kept
