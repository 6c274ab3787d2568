from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from pinotctl.commands.log_view import follow, tail
from tests.unit.fake_clock import FakeClock


def clock_of(*happenings: Callable[[], None]) -> FakeClock:
    """A clock that applies the next change to the logs at each sleep."""
    following = iter(happenings)
    return FakeClock(on_sleep=lambda _: next(following)())


def append(file: Path, text: str) -> None:
    with file.open("a") as log:
        log.write(text)


def test_tail(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("1\n2\n3\n")
    assert tail(log, 2) == ["2", "3"]
    assert tail(log, 0) == []
    assert tail(tmp_path / "none.log", 5) == []


def test_follow_yields_whole_lines_of_all_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    one.write_text("old\n")
    clock = clock_of(
        lambda: append(one, "a\nhal"),
        lambda: append(two, "b\n"),
        lambda: append(one, "f\n"),
    )
    lines = list(islice(follow({"one": one, "two": two}, clock), 3))
    assert lines == [("one", "a"), ("two", "b"), ("one", "half")]


def test_follow_reads_a_replaced_file_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("a long line of the start before\n")

    def restart() -> None:
        log.replace(tmp_path / "x.log.1")
        append(log, "new\n")

    assert next(follow({"x": log}, clock_of(restart))) == ("x", "new")
