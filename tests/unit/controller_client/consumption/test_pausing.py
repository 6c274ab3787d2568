"""Who holds a pause that is about to start."""

from __future__ import annotations

import pytest

from controller_client.consumption.pause_record import EXPLICIT, Holder, PauseRecord
from controller_client.consumption.pausing import _joined
from tests.unit.controller_client.consumption.worlds import ideal_of, segment

CONSUMING = ideal_of({segment(0, 1): "CONSUMING"})
PAUSED = ideal_of({segment(0, 1): "ONLINE"}, paused=True)
ME = Holder("me", 1_000_000)
OTHER = Holder("other", 999_000)
OLD = Holder("old", 1_000)


@pytest.mark.parametrize(
    ("present", "paused", "expected"),
    [
        (None, False, PauseRecord({EXPLICIT: ME})),
        (None, True, PauseRecord({EXPLICIT: ME}, foreign=True)),
        # Somebody who is about to set the flag came first; one whose process was killed long ago did not.
        (PauseRecord({EXPLICIT: OTHER}), False, PauseRecord({EXPLICIT: OTHER})),
        (PauseRecord({EXPLICIT: OLD}), False, PauseRecord({EXPLICIT: ME})),
        (PauseRecord({"block": OTHER}), False, PauseRecord({EXPLICIT: ME, "block": OTHER})),
        # A pause in effect, however old.
        (
            PauseRecord({EXPLICIT: OLD}, sequences={0: 1}),
            True,
            PauseRecord({EXPLICIT: OLD}, sequences={0: 1}),
        ),
        (PauseRecord({"block": OLD}, True), True, PauseRecord({EXPLICIT: ME, "block": OLD}, True)),
        # A pause that others ended, and their own that followed it.
        (PauseRecord({EXPLICIT: OTHER}, sequences={0: 0}), False, PauseRecord({EXPLICIT: ME})),
        (PauseRecord({EXPLICIT: OTHER}, sequences={0: 0}), True, PauseRecord({EXPLICIT: ME}, foreign=True)),
    ],
)
def test_who_pauses(present: PauseRecord | None, paused: bool, expected: PauseRecord) -> None:
    assert _joined(present, PAUSED if paused else CONSUMING, EXPLICIT, ME) == expected
