"""A rollback is killed before and after each of its writes: readers see one version or the other."""

from __future__ import annotations

from itertools import product

import pytest

from tests.faults.file_ingestion.conftest import PlaceOf
from tests.faults.file_ingestion.place import Place
from tests.faults.file_ingestion.runs import Halt, Runners
from tests.integration.file_ingestion.ingestion import invoke
from tests.support.expiry import expire_children
from tests.support.scheduling import PART
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

WRITES = (
    *("session INIT", "session IN_PROGRESS", "group 0", "session saved", "from page 0"),
    *("session SWITCH", "entry id", "session DONE", "session deleted"),
)
_BY_DEFAULT = {("sync", "after", "group 0"), ("sync", "after", "session SWITCH")}
_HALTS = [("sync", when, write) for when, write in product(("before", "after"), WRITES)]
_HALTS += [("append", "after", write) for write in ("group 0", "task name", "session SWITCH")]


def two_versions(place: Place, runners: Runners) -> tuple[str, set[int]]:
    """Publish two versions; return the first, and what it has."""
    place.is_sound = False
    place.register(0, {"keepVersions": "2"})
    place.change()
    version = runners.lasting().run(place.name).well["session_id"]
    held = set(place.held)
    place.change()
    assert runners.lasting().run(place.name).well["outcome"] == "switched"
    return version, held


@pytest.mark.parametrize(
    ("mode", "when", "write"),
    [pytest.param(*halt, marks=[PART(halt[0]), *([] if halt in _BY_DEFAULT else [FULL])]) for halt in _HALTS],
)
def test_a_killed_rollback(mode: str, when: str, write: str, place_of: PlaceOf, runners: Runners) -> None:
    place = place_of(mode)
    version, held = two_versions(place, runners)
    late, late_held = place.state, set(place.held)
    place.held = held
    with place.polled(late) as reader:
        ran = runners.victim().run(place.name, Halt(when, write), rollback=version)
        assert ran.was_killed, f"the rollback was not killed {when} {write}, since it did: {ran.steps}"
        runners.prepare()
        # As if the session had timed out, after which the dead run's lock is free.
        expire_children(place.pinot.zookeeper_address, place.lock_path)
        reader.poll_until(reader.polls + 10)
        report = runners.lasting().run(place.name, rollback=version).well
    assert report["outcome"] in ("rolled_back", "done_before")
    assert place.served() == place.state
    refused = runners.lasting().run(place.name).error
    assert refused is not None
    assert refused["type"] == "HeldError"
    assert invoke(place.pinot.controller_url, "task", "follow", place.name).code == 0
    early, place.held = place.state, late_held
    with place.polled(early):
        assert runners.lasting().run(place.name).well["outcome"] == "switched"
    assert place.served() == late
    place.assert_nothing_left()
    place.is_sound = True


def test_each_write_of_a_rollback_is_a_row(place_of: PlaceOf, runners: Runners) -> None:
    place = place_of("sync")
    version, held = two_versions(place, runners)
    steps = runners.lasting().run(place.name, rollback=version).steps
    calls = ("GET ", "POST ", "PUT ", "DELETE ")
    assert tuple(step for step in steps if not step.startswith(calls)) == WRITES
    place.held = held
    assert place.served() == place.state
    assert invoke(place.pinot.controller_url, "task", "follow", place.name).code == 0
    place.held = set(place.files.values())
    assert runners.lasting().run(place.name).well["outcome"] == "switched"
    place.is_sound = True
