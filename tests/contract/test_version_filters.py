"""Pinot's filters with ours find the same rows as a scan of the columns, or the query is rejected."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL
from tests.support.needs import Need, inside
from tests.support.pinned_pinot import home_variables, pinot_versions
from tests.support.program import Program

pytestmark = pytest.mark.jvm

_LAST = 1_000
_COLUMNS = (VALID_FROM, VALID_UNTIL)
_NEVER = np.iinfo(np.int64).max

Events = Mapping[str, tuple[Sequence[int], Sequence[int]]]
"""By column, rows and the version of each."""


class Model:
    """A segment together with a model of its rows."""

    def __init__(self, program: Program, kind: str, folder: Path) -> None:
        self.rows = 0
        self._values: NDArray[np.int64] = np.zeros(0, np.int64)
        self._versions = dict.fromkeys(_COLUMNS, self._values)
        self._program = program
        self.obey("open", kind=kind, folder=str(folder))
        self.complete(_LAST)

    def obey(self, order: str, **words: Any) -> dict[str, Any]:
        """Execute a command of the program."""
        return self._program.ask({"do": order, **words})

    def complete(self, version: int) -> None:
        self.obey("complete", version=version)

    def add(self, values: Sequence[int]) -> None:
        self.rows += len(values)
        self._values = np.concatenate([self._values, np.array(values, np.int64)])
        none = np.full(len(values), _NEVER)
        self._versions = {each: np.concatenate([known, none]) for each, known in self._versions.items()}
        self.obey("add", values=list(values))

    def write(self, column: str, rows: Sequence[int], versions: ArrayLike) -> None:
        """Write a version into each row, or the same into all."""
        self.write_all({column: (rows, np.broadcast_to(versions, len(rows)).tolist())})

    def write_all(self, events: Events) -> None:
        """Write the versions of several columns at once."""
        self.note(events)
        self.obey("write", **{column: [list(rows), versions] for column, (rows, versions) in events.items()})

    def note(self, events: Events) -> None:
        """Change only the model."""
        for column, (rows, versions) in events.items():
            np.minimum.at(self._versions[column], np.array(rows, np.int64), versions)

    def visible(self, version: int) -> NDArray[np.int64]:
        first, last = (self._versions[column] for column in _COLUMNS)
        return np.flatnonzero((first <= version) & (last > version))

    def check(self, version: int, above: int | None) -> None:
        where = "" if above is None else f"a > {above}"
        found = self.obey("ask", version=version, where=where)
        expected = self.visible(version)
        if above is None:
            assert found["count"] is not None, "Pinot does not count by the bitmaps"
        else:
            expected = expected[self._values[expected] > above]
        assert found["rows"] == expected.tolist()
        assert found["count"] in (None, len(expected))

    def count(self, version: int) -> None:
        assert self.obey("count rows", version=version)["count"] == len(self.visible(version))

    def asked(
        self,
        version: int | None,
        where: str = "",
        *,
        skips: bool = False,
        meanwhile: Sequence[Mapping[str, Any]] = (),
    ) -> list[int] | str:
        """Query; other commands run once the query waits for its version."""
        do = "ask meanwhile" if meanwhile else "ask"
        answer = self.obey(do, version=version, where=where, skips=skips, orders=meanwhile)
        found: list[int] | str = answer.get("error") or answer["rows"]
        return found

    def counters(self) -> dict[str, int]:
        return self.obey("count")


# Our tables need 1.4 or later.
@pytest.fixture(scope="module", params=pinot_versions("1.5.1", "1.4.0"))
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The child process, in which each test opens a segment."""
    folder = tmp_path_factory.mktemp("filters")
    variables = home_variables(request.param, folder)
    running = Program("tests.contract.version_filter_program", log=folder / "log", **variables)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def open_segment(program: Program, tmp_path: Path) -> Callable[[str], Model]:
    return lambda kind: Model(program, kind, tmp_path)


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_random_histories(open_segment: Callable[[str], Model], kind: str, full: bool) -> None:
    chance = random.Random(8)
    model = open_segment(kind)
    # More rows than one page and one bitmap container.
    model.add(chance.choices(range(100), k=66_000))
    for step in range(90 if full else 45):
        newest = step // 3
        deed = chance.randrange(12)
        if deed < 2 and kind == "consuming":
            model.add(chance.choices(range(100), k=chance.randrange(1, 200)))
        elif deed < 6:
            # The next version, several at once, or a late older one.
            ages = chance.choice([(0, 0), (0, 0), (0, 3), (-2, 4), (-10, 0)])
            model.write_all({column: _some(chance, model.rows, newest, ages) for column in _COLUMNS})
        elif deed == 6 and chance.randrange(4) == 0:
            model.obey("detach")
            model.write(VALID_FROM, [chance.randrange(model.rows)], newest + 1)
            model.obey("attach")
        else:
            asked = chance.choice([newest, newest, newest - 1, chance.randrange(newest + 2)])
            model.check(max(0, asked), chance.choice([None, None, 50]))
    counters = model.counters()
    assert counters["versionFailures"] == 0
    assert counters["versionHits"] > 0
    assert counters["versionsCarried"] > 0
    assert counters["versionScans"] > 0


def _some(
    chance: random.Random, rows: int, newest: int, ages: tuple[int, int]
) -> tuple[Sequence[int], Sequence[int]]:
    """Adjacent or distant rows, each with the version after the newest one, or one near it."""
    count, first = chance.choice([0, 1, 100, 3_000]), chance.randrange(rows)
    adjacent = range(first, min(first + count, rows))
    chosen = adjacent if chance.randrange(2) else chance.sample(range(rows), count)
    return chosen, [max(0, newest + 1 + chance.randint(*ages)) for _ in chosen]


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_a_column_is_scanned_for_its_first_version_and_for_old_ones(
    open_segment: Callable[[str], Model], kind: str
) -> None:
    chance = random.Random(3)
    model = open_segment(kind)
    model.add([0] * 5_000)
    model.write(VALID_FROM, range(2_000), 0)
    model.check(0, None)
    before = model.counters()
    assert before["versionScans"] == len(_COLUMNS)
    for version in range(1, 700):
        first = 2_000 + 4 * version
        # A row that arrived and was replaced at once, and arbitrary others.
        deleted = [first, *(chance.randrange(first) for _ in range(3))]
        events = {VALID_FROM: range(first, first + 4), VALID_UNTIL: deleted}
        model.write_all({column: (rows, [version] * len(rows)) for column, rows in events.items()})
        if version % 50 == 0:
            for asked in (version, version - 20, version - 1, version):
                model.check(asked, None)
    after = model.counters()
    assert after["versionScans"] == before["versionScans"]
    assert after["versionsCarried"] > before["versionsCarried"]
    model.check(1, None)
    assert model.counters()["versionScans"] == after["versionScans"] + len(_COLUMNS)
    for asked in (699, 1, 698):
        model.check(asked, None)
    assert model.counters()["versionScans"] == after["versionScans"] + len(_COLUMNS)


def test_more_rows_than_are_noted(open_segment: Callable[[str], Model]) -> None:
    """Versions are recorded completely, however many rows they have; larger first scans are not tracked.

    The limit, of both, is 262,144 rows.
    """
    model = open_segment("sealed")
    model.add([0] * 600_000)
    for version in range(4):
        model.write(VALID_FROM, range(150_000 * version, 150_000 * (version + 1)), version)
    model.count(0)
    model.count(2)
    scans = model.counters()["versionScans"]
    model.write(VALID_UNTIL, range(0, 540_000, 2), 4)
    model.write(VALID_UNTIL, range(1, 540_000, 2), 5)
    for version in (5, 4, 3):
        model.count(version)
    assert model.counters()["versionScans"] <= scans + 2
    model.write(VALID_UNTIL, [560_000], 6)
    model.count(6)


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_versions_are_written_while_others_are_queried(
    open_segment: Callable[[str], Model], kind: str, full: bool
) -> None:
    chance = random.Random(5)
    model = open_segment(kind)
    model.complete(NIL)
    model.add([0] * 20_000)
    history, expected = [], []
    for version in range(600 if full else 300):
        first = 30 * version
        deleted = list({chance.randrange(first + 30) for _ in range(20)})
        events = {VALID_FROM: list(range(first, first + 30)), VALID_UNTIL: deleted}
        history.append({column: (rows, [version] * len(rows)) for column, rows in events.items()})
        model.note(history[-1])
        expected.append(len(model.visible(version)))
    answers = model.obey("storm", history=history)["answers"]
    assert len(answers) >= len(history) - 3  # as many as threads that ask
    assert [each for each in answers if each["count"] != expected[each["version"]]] == []
    assert model.counters()["versionFailures"] == 0


@inside(Need.CONSUMING_SEGMENTS_OF_0_11)
@pytest.mark.parametrize("program", [None], ids=["this"], indirect=True)
def test_other_conditions_on_the_columns_are_pinots(open_segment: Callable[[str], Model]) -> None:
    model = open_segment("consuming")
    model.add(range(6))
    model.write(VALID_FROM, range(6), range(6))
    for where, expected in {
        f'"{VALID_FROM}" > 2': [3, 4, 5],
        f'NOT "{VALID_FROM}" >= 2': [0, 1],
        f'"{VALID_FROM}" BETWEEN 1 AND 3': [1, 2, 3],
        f'"{VALID_FROM}" = 2 OR a = 4': [2, 4],
        f'NOT ("{VALID_UNTIL}" BETWEEN 0 AND 9 OR a < 3)': [3, 4, 5],
        f'"{VALID_FROM}" BETWEEN 0 AND 9223372036854775807': [0, 1, 2, 3, 4, 5],
        "NOT a BETWEEN 0 AND 3": [4, 5],
    }.items():
        assert model.asked(None, where, skips=True) == expected, where


def test_a_version_that_is_not_complete_here_is_refused(open_segment: Callable[[str], Model]) -> None:
    model = open_segment("consuming")
    model.add(range(6))
    model.write(VALID_FROM, range(6), range(6))
    model.complete(2)
    assert model.asked(2) == [0, 1, 2]
    assert model.asked(1) == [0, 1]
    refused = model.asked(3, "a > 1")
    assert "this server is complete up to version 2 of u_REALTIME, but the query needs version 3" in refused
    assert model.counters()["queriesRefused"] == 1
    model.complete(3)
    assert model.asked(3) == [0, 1, 2, 3]
    # It may decrease: an accepted server may lag again.
    model.complete(NIL)
    assert "complete up to version -1" in model.asked(0)


def test_a_query_without_a_version_is_refused(open_segment: Callable[[str], Model]) -> None:
    model = open_segment("consuming")
    model.add(range(4))
    model.write(VALID_FROM, [0, 1], 1)
    refused = "u_REALTIME is an upsert table, and the query names no version of it"
    assert refused in model.asked(None)
    assert refused in model.asked(None, "a > 1")
    assert model.counters()["queriesRefused"] == 2
    assert model.asked(None, "a > 0", skips=True) == [1, 2, 3]
    assert model.asked(1, "a > 0") == [1]
    model.obey("allow without version")
    assert model.asked(None, "a > 0") == [1, 2, 3]
    assert model.asked(1, "a > 0") == [1]


def test_a_query_that_waited_sees_the_rows_that_came_meanwhile(open_segment: Callable[[str], Model]) -> None:
    """Pinot counts a segment's rows before it creates the filter."""
    model = open_segment("consuming")
    model.add([0, 1])
    model.write(VALID_FROM, [0, 1], 1)
    model.complete(1)
    orders: list[Mapping[str, Any]] = [
        {"do": "add", "values": [2]},
        {"do": "write", VALID_UNTIL: [[0], [2]], VALID_FROM: [[2], [2]]},
        {"do": "complete", "version": 2},
    ]
    assert model.asked(2, meanwhile=orders) == [1, 2]
    model.complete(1)
    model.complete(2)
    assert model.asked(2) == [1, 2]
