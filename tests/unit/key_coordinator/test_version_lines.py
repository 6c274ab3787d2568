"""Log lines on the progress of a key coordinator."""

from __future__ import annotations

from key_coordinator.report import VersionLines, VersionReport
from tests.unit.fake_clock import FakeClock


def test_versions_are_summarized_in_lines() -> None:
    logged: list[str] = []
    clock = FakeClock()
    lines = VersionLines(logged.append, clock)
    for version in range(3):
        clock.sleep(6)
        lines.add(VersionReport(version, 60_000, 2, 90_000, 1_000 * version, held_back=False, lag=12))
    assert logged == ["version 1, 120,000 rows (10,000/s), 1,000 keys, 12 rows behind, 4 rows without a key"]
    clock.sleep(6)
    lines.close()
    assert logged[1:] == [
        "version 2, 60,000 rows (5,000/s), 2,000 keys, 12 rows behind, 2 rows without a key"
    ]
    lines.close()
    assert len(logged) == 2


def test_an_example_of_a_row_without_a_key_is_logged() -> None:
    logged: list[str] = []
    lines = VersionLines(logged.append, FakeClock())
    lines.add(VersionReport(1, 2, 1, 1, 1, held_back=True, example="partition 0, offset 7: x is not an INT"))
    lines.close()
    (line,) = logged
    assert line.endswith(
        "1 rows without a key (partition 0, offset 7: x is not an INT), "
        "held back until the rebuild has caught up"
    )
