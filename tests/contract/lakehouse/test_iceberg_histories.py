"""Random histories of Iceberg tables: our source reads what Iceberg's own library reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.support.program import Program

pytestmark = pytest.mark.jvm

FEWEST_KINDS = 12
"""Of changes in a run's histories, of 13."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    log = tmp_path_factory.mktemp("histories") / "log"
    running = Program("tests.contract.lakehouse.iceberg_histories", log=log)
    yield running
    running.close()


def test_our_source_reads_what_icebergs_own_library_reads(
    program: Program, numbers: Callable[[int, int], range]
) -> None:
    changes: Counter[str] = Counter()
    for number in numbers(8, 100):
        answer = program.ask({"number": number})
        assert answer["difference"] is None, f"history {number}:\n{answer['difference']}"
        assert answer["rows"] > 0
        changes.update(answer["changes"])
    assert len(changes) >= FEWEST_KINDS, changes
