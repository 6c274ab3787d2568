"""The thread of Pinot's consuming segment asks before it consumes, and Pinot's own calls let it go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.program import Program

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = Program(
        "tests.contract.paused_consumer_program", log=tmp_path_factory.mktemp("paused") / "child.log"
    )
    try:
        assert program.answer() is not None, program.said()
        yield program
    finally:
        program.kill()


@pytest.mark.parametrize(
    ("do", "released", "stops", "commits"),
    [("stop", False, True, False), ("commit", False, False, True), ("resume", True, False, False)],
)
def test_a_consumer_that_no_table_knows_is_held_until(
    segments: Program, do: str, released: bool, stops: bool, commits: bool
) -> None:
    """Pinot registers a segment after its thread has started, and removes it before it stops the thread."""
    assert segments.ask({"table": do, "do": do}) == {
        "asked": 1,
        "held": True,
        "ended": True,
        "released": released,
        "stops": stops,
        "commits": commits,
    }, segments.said()
