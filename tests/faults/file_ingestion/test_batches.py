"""A push of many segments, in batches if Pinot takes them: readers see old or new rows, and it recovers."""

from __future__ import annotations

import pytest

from controller_client.rest.capabilities import Capability
from tests.faults.file_ingestion.conftest import PlaceOf
from tests.faults.file_ingestion.injections import (
    SWITCH,
    ControllerKilledAtCall,
    Http,
    Injection,
    Killed,
    Late,
)
from tests.faults.file_ingestion.runs import Halt, Runners
from tests.faults.file_ingestion.table import FINISHED, NOTHING_NEW
from tests.support.needs import has
from tests.support.scheduling import DISTURBS, PART
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.s3, PART("append")]

_CHANGES = 4
"""With two new files each: eight segments, of which a batch has two."""
_MODE = "append"


def _push() -> str:
    return "segments/batchUpload" if has(Capability.PUSH_IN_BATCHES) else "v2/segments"


def _halt(when: str, nth: int) -> Halt:
    return Halt(when, "POST push", nth, since="session SWITCH")


def _injection(fault: str) -> Injection:
    match fault.split(", "):
        case ["killed", when, nth]:
            return Killed((_halt(when, int(nth)),))
        case ["the controller killed"]:
            return ControllerKilledAtCall("POST", _push())
        case ["late"]:
            return Late("POST", _push(), Halt("before", "POST push"))
        case _:
            return Http("controller", fault, "POST", _push(), 1, SWITCH)


@pytest.mark.parametrize(
    "fault",
    [
        *("killed, before, 1", "killed, after, 1", "killed, after, 3", "late"),
        *("reply lost", "connection dropped", "500", "503", "slow"),
        pytest.param("the controller killed", marks=DISTURBS),
    ],
)
def test_a_push_of_many_segments(fault: str, place_of: PlaceOf, runners: Runners) -> None:
    place = place_of(_MODE)
    place.is_sound = False
    place.register(0, {"push.mode": "BATCH"})
    old = place.state
    for _ in range(_CHANGES):
        place.change()
    with place.polled(old) as reader:
        ran = _injection(fault).run(place, runners, reader)
        report = runners.lasting().run(place.name).well
    assert report["outcome"] == (FINISHED if ran.report is None else NOTHING_NEW)
    assert runners.lasting().run(place.name).well["outcome"] == NOTHING_NEW
    place.assert_nothing_left()
    assert place.served() == place.state
    place.is_sound = True
