"""Pinot's filters with ours find the same rows as a scan of the columns, or the query is rejected."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL
from tests.support.needs import Need, inside
from tests.support.pinned_pinot import EACH_RUN, pinned_home, pinot_versions
from tests.support.program import Program

pytestmark = pytest.mark.jvm

_STEPS = 90
_LAST = 1_000
_COLUMNS = (VALID_FROM, VALID_UNTIL)


class Model:
    """A segment together with a model of its rows."""

    def __init__(self, program: Program) -> None:
        self.values: list[int] = []
        self.froms: list[int] = []
        self.untils: list[int] = []
        self._program = program
        self.complete(_LAST)

    def complete(self, version: int) -> None:
        self._program.ask({"do": "complete", "version": version})

    def add(self, values: list[int]) -> None:
        self.values += values
        self.froms += [NIL] * len(values)
        self.untils += [NIL] * len(values)
        self._program.ask({"do": "add", "values": values})

    def write(self, column: str, versions: dict[int, int]) -> None:
        self.write_all({column: list(versions.items())})

    def write_all(self, events: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Write rows' versions by column, all at once."""
        for column, pairs in events.items():
            known = self.froms if column == VALID_FROM else self.untils
            for row, version in pairs:
                known[row] = version if known[row] == NIL else min(known[row], version)
        self._program.ask({"do": "write", **events})

    def obey(self, order: str) -> None:
        self._program.ask({"do": order})

    def storm(self, history: Sequence[Mapping[str, Any]]) -> list[dict[str, int]]:
        """Write versions while others are queried; return each queried version and its number of rows."""
        answers: list[dict[str, int]] = self._program.ask({"do": "storm", "history": history})["answers"]
        return answers

    def visible(self, version: int) -> list[int]:
        return [
            row
            for row, (first, last) in enumerate(zip(self.froms, self.untils, strict=True))
            if 0 <= first <= version and not 0 <= last <= version
        ]

    def check(self, version: int, above: int | None) -> None:
        where = "" if above is None else f"a > {above}"
        found = self._program.ask({"do": "ask", "version": version, "where": where})
        expected = [row for row in self.visible(version) if above is None or self.values[row] > above]
        assert found["rows"] == expected
        assert found["count"] in (None, len(expected))
        if above is None:
            assert found["count"] is not None, "Pinot does not count by the bitmaps"

    def count(self, version: int) -> None:
        found = self._program.ask({"do": "count rows", "version": version})
        assert found["count"] == len(self.visible(version))

    def asked(
        self,
        version: int | None,
        where: str = "",
        *,
        skips: bool = False,
        meanwhile: Sequence[Mapping[str, Any]] = (),
    ) -> list[int] | str:
        """Query; other commands run once the query waits for its version."""
        order = {"version": version, "where": where, "skips": skips, "orders": meanwhile}
        answer = self._program.ask({"do": "ask meanwhile" if meanwhile else "ask", **order})
        found: list[int] | str = answer.get("error") or answer["rows"]
        return found

    def counters(self) -> dict[str, int]:
        return self._program.ask({"do": "count"})


@pytest.fixture(params=pinot_versions(EACH_RUN, "1.4.0"))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment that selects the child process's Pinot; our tables need 1.4 or later."""
    return {} if request.param is None else {"PINOT_HOME": str(pinned_home(request.param, tmp_path))}


@contextmanager
def _model(kind: str, folder: Path, home: Mapping[str, str]) -> Iterator[Model]:
    log = folder / "log"
    program = Program("tests.contract.version_filter_program", kind, str(folder), log=log, **home)
    try:
        yield Model(program)
    finally:
        program.close()


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_random_histories(kind: str, tmp_path: Path, home: dict[str, str]) -> None:
    chance = random.Random(8)
    with _model(kind, tmp_path, home) as model:
        # More rows than one page and one bitmap container.
        model.add([chance.randrange(100) for _ in range(66_000)])
        for step in range(_STEPS):
            newest = step // 3
            deed = chance.randrange(12)
            if deed < 2 and kind == "consuming":
                model.add([chance.randrange(100) for _ in range(chance.randrange(1, 200))])
            elif deed < 6:
                # The next version, several at once, or a late older one.
                ages = chance.choice([(0, 0), (0, 0), (0, 3), (-2, 4), (-10, 0)])
                model.write_all({column: _some(chance, model, newest, ages) for column in _COLUMNS})
            elif deed == 6 and chance.randrange(4) == 0:
                model.obey("detach")
                model.write(VALID_FROM, {chance.randrange(len(model.values)): newest + 1})
                model.obey("attach")
            else:
                asked = chance.choice([newest, newest, newest - 1, chance.randrange(newest + 2)])
                model.check(max(0, asked), chance.choice([None, None, 50]))
        counters = model.counters()
        assert counters["versionFailures"] == 0
        assert counters["versionHits"] > 0
        assert counters["versionsCarried"] > 0
        assert counters["versionScans"] > 0


def _some(chance: random.Random, model: Model, newest: int, ages: tuple[int, int]) -> list[tuple[int, int]]:
    """Adjacent or distant rows, each with the version after the newest one, or one near it."""
    count, rows = chance.choice([0, 1, 100, 3_000]), range(len(model.values))
    first = chance.randrange(len(rows))
    chosen = rows[first : first + count] if chance.randrange(2) else chance.sample(rows, count)
    return [(row, max(0, newest + 1 + chance.randint(*ages))) for row in chosen]


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_a_column_is_scanned_for_its_first_version_and_for_old_ones(
    kind: str, tmp_path: Path, home: dict[str, str]
) -> None:
    chance = random.Random(3)
    with _model(kind, tmp_path, home) as model:
        model.add([0] * 5_000)
        model.write(VALID_FROM, dict.fromkeys(range(2_000), 0))
        model.check(0, None)
        before = model.counters()
        assert before["versionScans"] == len(_COLUMNS)
        for version in range(1, 700):
            first = 2_000 + 4 * version
            inserted = [(row, version) for row in range(first, first + 4)]
            # A row that arrived and was replaced at once, and arbitrary others.
            deleted = [(first, version), *((chance.randrange(first), version) for _ in range(3))]
            model.write_all({VALID_FROM: inserted, VALID_UNTIL: deleted})
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


def test_more_rows_than_are_noted(tmp_path: Path, home: dict[str, str]) -> None:
    """Versions are recorded completely, however many rows they have; larger first scans are not tracked."""
    with _model("sealed", tmp_path, home) as model:
        model.add([0] * 1_000_000)
        for version in range(4):
            rows = range(250_000 * version, 250_000 * (version + 1))
            model.write(VALID_FROM, dict.fromkeys(rows, version))
        model.count(0)
        model.count(2)
        scans = model.counters()["versionScans"]
        model.write(VALID_UNTIL, dict.fromkeys(range(0, 600_000, 2), 4))
        model.write(VALID_UNTIL, dict.fromkeys(range(1, 600_000, 2), 5))
        for version in (5, 4, 3):
            model.count(version)
        assert model.counters()["versionScans"] <= scans + 2
        model.write(VALID_UNTIL, {700_000: 6})
        model.count(6)


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_versions_are_written_while_others_are_queried(
    kind: str, tmp_path: Path, home: dict[str, str]
) -> None:
    chance = random.Random(5)
    history = []
    with _model(kind, tmp_path, home) as model:
        model.complete(NIL)
        model.add([0] * 20_000)
        expected = {}
        for version in range(600):
            first = 30 * version
            inserted = [(row, version) for row in range(first, first + 30)]
            deleted = [(row, version) for row in {chance.randrange(first + 30) for _ in range(20)}]
            history.append({VALID_FROM: inserted, VALID_UNTIL: deleted})
            for row, _ in inserted:
                model.froms[row] = version
            for row, _ in deleted:
                model.untils[row] = version if model.untils[row] == NIL else model.untils[row]
            expected[version] = len(model.visible(version))
        answers = model.storm(history)
        assert len(answers) > 500
        assert [each for each in answers if each["count"] != expected[each["version"]]] == []
        assert model.counters()["versionFailures"] == 0


@inside(Need.CONSUMING_SEGMENTS_OF_0_11)
def test_other_conditions_on_the_columns_are_pinots(tmp_path: Path) -> None:
    with _model("consuming", tmp_path, {}) as model:
        model.add(list(range(6)))
        model.write(VALID_FROM, {row: row for row in range(6)})
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


def test_a_version_that_is_not_complete_here_is_refused(tmp_path: Path, home: dict[str, str]) -> None:
    with _model("consuming", tmp_path, home) as model:
        model.add(list(range(6)))
        model.write(VALID_FROM, {row: row for row in range(6)})
        model.complete(2)
        assert model.asked(2) == [0, 1, 2]
        assert model.asked(1) == [0, 1]
        refused = model.asked(3, "a > 1")
        assert (
            "this server is complete up to version 2 of u_REALTIME, but the query needs version 3" in refused
        )

        assert model.counters()["queriesRefused"] == 1
        model.complete(3)
        assert model.asked(3) == [0, 1, 2, 3]
        # It may decrease: an accepted server may lag again.
        model.complete(NIL)
        assert "complete up to version -1" in model.asked(0)


def test_a_query_without_a_version_is_refused(tmp_path: Path, home: dict[str, str]) -> None:
    with _model("consuming", tmp_path, home) as model:
        model.add(list(range(4)))
        model.write(VALID_FROM, {0: 1, 1: 1})
        refused = "u_REALTIME is an upsert table, and the query names no version of it"
        assert refused in model.asked(None)
        assert refused in model.asked(None, "a > 1")
        assert model.counters()["queriesRefused"] == 2
        assert model.asked(None, "a > 0", skips=True) == [1, 2, 3]
        assert model.asked(1, "a > 0") == [1]
        model.obey("allow without version")
        assert model.asked(None, "a > 0") == [1, 2, 3]
        assert model.asked(1, "a > 0") == [1]


def test_a_query_that_waited_sees_the_rows_that_came_meanwhile(tmp_path: Path, home: dict[str, str]) -> None:
    """Pinot counts a segment's rows before it creates the filter."""
    with _model("consuming", tmp_path, home) as model:
        model.add([0, 1])
        model.write(VALID_FROM, {0: 1, 1: 1})
        model.complete(1)
        orders: list[Mapping[str, Any]] = [
            {"do": "add", "values": [2]},
            {"do": "write", VALID_UNTIL: [[0, 2]], VALID_FROM: [[2, 2]]},
            {"do": "complete", "version": 2},
        ]
        assert model.asked(2, meanwhile=orders) == [1, 2]
        model.complete(1)
        model.complete(2)
        assert model.asked(2) == [1, 2]
