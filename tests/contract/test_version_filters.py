"""Pinot's filters with ours find the rows that a scan of the columns would, or the query is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL
from tests.support.needs import Need, needs
from tests.support.pinned_pinot import EACH_RUN, pinned_home, pinot_versions
from tests.support.program import Program

pytestmark = pytest.mark.jvm

_STEPS = 60
_LAST = 1_000


class Model:
    """The rows of a segment beside the segment itself."""

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
        known = self.froms if column == VALID_FROM else self.untils
        for row, version in versions.items():
            known[row] = version
        self._program.ask({"do": "write", "column": column, "versions": list(versions.items())})
        self._program.ask({"do": "tell", "version": min(versions.values())})

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

    def asked(
        self, version: int | None, where: str = "", *, meanwhile: Sequence[Mapping[str, Any]] = ()
    ) -> list[int] | str:
        """Ask; other orders are obeyed once the query waits for its version."""
        do = "ask meanwhile" if meanwhile else "ask"
        answer = self._program.ask({"do": do, "version": version, "where": where, "orders": meanwhile})
        found: list[int] | str = answer.get("error") or answer["rows"]
        return found

    def counters(self) -> dict[str, int]:
        return self._program.ask({"do": "count"})


@pytest.fixture(params=pinot_versions(EACH_RUN, "1.4.0"))
def home(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """What names the Pinot of the child process; before 1.4 tables of ours do not go."""
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
def test_random_writes_and_questions(kind: str, tmp_path: Path, home: dict[str, str]) -> None:
    chance = random.Random(8)
    with _model(kind, tmp_path, home) as model:
        # More than the rows of one page, and of one container of a bitmap.
        model.add([chance.randrange(100) for _ in range(66_000)])
        for step in range(_STEPS):
            deed = chance.randrange(4)
            if deed == 0 and kind == "consuming":
                model.add([chance.randrange(100) for _ in range(chance.randrange(1, 200))])
            elif deed == 1:
                column = chance.choice([VALID_FROM, VALID_UNTIL])
                first = chance.randrange(len(model.values))
                rows = range(first, min(len(model.values), first + chance.choice([1, 100, 30_000])))
                model.write(column, {row: chance.randrange(NIL, 6) + step // 15 for row in rows})
            else:
                model.check(chance.randrange(8), chance.choice([None, None, 50]))
        counters = model.counters()
        assert counters["versionFailures"] == 0
        assert counters["versionHits"] > 0
        assert counters["versionScans"] > 0


@pytest.mark.parametrize("kind", ["consuming", "sealed"])
def test_a_version_is_scanned_once_until_something_is_written_about_it(kind: str, tmp_path: Path) -> None:
    with _model(kind, tmp_path, {}) as model:
        model.add(list(range(10)))
        model.write(VALID_FROM, dict.fromkeys(range(9), 0))
        model.write(VALID_UNTIL, {3: 2})
        for version in (2, 3):
            model.check(version, None)
        scans = model.counters()["versionScans"]
        for version in (2, 3, 2, 3):
            model.check(version, None)
        assert model.counters()["versionScans"] == scans
        # About a later version: what is kept of the two stays.
        model.write(VALID_UNTIL, {4: 4})
        model.check(3, None)
        assert model.counters()["versionScans"] == scans
        model.write(VALID_UNTIL, {5: 3})
        model.check(2, None)
        assert model.counters()["versionScans"] == scans
        model.check(3, None)
        assert model.counters()["versionScans"] > scans


@needs(Need.CONSUMING_SEGMENTS_OF_0_11)
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
            assert model.asked(None, where) == expected, where


def test_a_version_that_is_not_complete_here_is_refused(tmp_path: Path, home: dict[str, str]) -> None:
    with _model("consuming", tmp_path, home) as model:
        model.add(list(range(6)))
        model.write(VALID_FROM, {row: row for row in range(6)})
        model.complete(2)
        assert model.asked(2) == [0, 1, 2]
        assert model.asked(1) == [0, 1]
        refused = model.asked(3, "a > 1")
        assert "this server is complete up to version 2 of u_REALTIME, and version 3 is asked for" in refused
        assert model.counters()["queriesRefused"] == 1
        model.complete(3)
        assert model.asked(3) == [0, 1, 2, 3]
        # It may fall: a server that was let through is behind again.
        model.complete(NIL)
        assert "complete up to version -1" in model.asked(0)


def test_a_query_that_waited_sees_the_rows_that_came_meanwhile(tmp_path: Path, home: dict[str, str]) -> None:
    """Pinot counts a segment's rows before it makes the filter."""
    with _model("consuming", tmp_path, home) as model:
        model.add([0, 1])
        model.write(VALID_FROM, {0: 1, 1: 1})
        model.complete(1)
        orders: list[Mapping[str, Any]] = [
            {"do": "add", "values": [2]},
            {"do": "write", "column": VALID_UNTIL, "versions": [[0, 2]]},
            {"do": "write", "column": VALID_FROM, "versions": [[2, 2]]},
            {"do": "tell", "version": 2},
            {"do": "complete", "version": 2},
        ]
        assert model.asked(2, meanwhile=orders) == [1, 2]
        model.complete(1)
        model.complete(2)
        assert model.asked(2) == [1, 2]
