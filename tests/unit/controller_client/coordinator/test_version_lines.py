"""Lines that show how far a key coordinator is."""

from __future__ import annotations

from controller_client.coordinator.report import VersionReport
from controller_client.coordinator.version_lines import VersionLines
from tests.unit.fake_clock import FakeClock


def test_versions_are_summed_up_in_lines() -> None:
    said: list[str] = []
    clock = FakeClock()
    lines = VersionLines(said.append, clock)
    for version in range(3):
        clock.sleep(6)
        lines.add(VersionReport(version, 60_000, 2, 90_000, 1_000 * version, held_back=False, lag=12))
    assert said == ["version 1, 120,000 rows (10,000/s), 1,000 keys, 12 rows behind, 4 rows without a key"]
    clock.sleep(6)
    lines.close()
    assert said[1:] == ["version 2, 60,000 rows (5,000/s), 2,000 keys, 12 rows behind, 2 rows without a key"]
    lines.close()
    assert len(said) == 2


def test_a_row_without_a_key_is_named() -> None:
    said: list[str] = []
    lines = VersionLines(said.append, FakeClock())
    lines.add(VersionReport(1, 2, 1, 1, 1, held_back=True, example="partition 0, offset 7: x is no INT"))
    lines.close()
    (line,) = said
    assert line.endswith(
        "1 rows without a key (partition 0, offset 7: x is no INT), held back until the rebuild has caught up"
    )
