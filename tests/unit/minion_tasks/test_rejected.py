"""Sessions that do not pass the checks: judged again, resumed, published or discarded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller_client.errors import ConflictError, NotFoundError
from controller_client.publishing.checks.judgement import ChecksFailedError
from minion_tasks.file_ingestion.run.rejected import RejectedRun
from minion_tasks.file_ingestion.run.types import RunOutcome, RunReport
from minion_tasks.file_ingestion.session.model import Session, SessionState
from tests.unit.minion_tasks.happenings import Happenings, ProcessDiedError
from tests.unit.minion_tasks.life import APPEND, SWAP, Life
from tests.unit.minion_tasks.session_world import World

BAD = Happenings(failed_checks=("the table would have 1 row",))
NO_RETRIES = {"consistentPushEnabled": "true"}


@pytest.fixture(params=[APPEND, SWAP, NO_RETRIES, {}])
def life(request: pytest.FixtureRequest) -> Iterator[Life]:
    """A table with one file, whose next session is rejected."""
    world = World()
    life = Life(world, request.param)
    life.write("F1")
    life.trigger()
    life.write("F2")
    error = life.fails(BAD)
    assert isinstance(error, ChecksFailedError)
    assert "the table would have 1 row" in str(error)
    assert "'pinotctl task publish t_OFFLINE --accept'" in str(error)
    yield life
    world.close()


def publish(life: Life, session_id: str | None = None, happenings: Happenings | None = None) -> RunReport:
    return life.world.run(
        life.params(), happenings or Happenings(), lambda *given: RejectedRun(*given).publish(session_id)
    )


def discard(life: Life) -> Session:
    return life.world.run(life.params(), Happenings(), lambda *given: RejectedRun(*given).discard(None))


def test_the_table_is_unchanged_and_what_is_staged_stays(life: Life) -> None:
    assert life.seen.keys() == {"F1"}
    assert (life.session.state, life.session.is_open) == (SessionState.REJECTED, True)
    assert life.session.message == "the table would have 1 row"
    assert len(life.world.staged) == 2 * (1 + ("consistentPushSwapEnabled" in life.configs))


def test_it_is_judged_again_without_reading(life: Life) -> None:
    session_id = life.session.session_id
    life.fails(BAD)
    life.fails(BAD)
    assert life.read == []
    assert (life.session.session_id, life.session.retry_count) == (session_id, 0)
    report = life.trigger()
    assert (report.outcome, report.session_id) == (RunOutcome.SWITCHED, session_id)
    assert (life.read, life.seen) == ([], life.world.source)
    assert not life.world.staged


def test_it_is_resumed_when_its_source_changes(life: Life) -> None:
    session_id = life.session.session_id
    life.write("F3")
    report = life.trigger()
    assert (report.session_id, life.read) == (session_id, ["F3"])
    assert life.seen == life.world.source


def test_it_is_resumed_and_rejected_again(life: Life) -> None:
    session_id = life.session.session_id
    life.write("F3")
    life.fails(BAD)
    assert (life.session.session_id, life.session.state) == (session_id, SessionState.REJECTED)
    assert (life.read, set(life.seen)) == (["F3"], {"F1"})


def test_it_is_published_as_it_was_judged(life: Life) -> None:
    session_id, before = life.session.session_id, dict(life.world.source)
    life.write("F3")
    report = publish(life, session_id)
    assert (report.outcome, report.session_id) == (RunOutcome.SWITCHED, session_id)
    assert (life.read, life.seen) == ([], before)
    assert life.session.state is SessionState.DONE
    assert (life.session.message or "").endswith(": the table would have 1 row")
    assert (life.session.message or "").startswith("accepted by ")
    life.trigger()
    assert life.seen == life.world.source


@pytest.mark.parametrize("step", range(1, 12))
def test_publishing_is_killed(step: int) -> None:
    world = World()
    life = Life(world, SWAP)
    life.write("F1")
    life.fails(BAD)
    try:
        publish(life, None, Happenings(run_dies_at=step))
    except ProcessDiedError:
        assert life.seen in ({}, world.source)
        life.trigger()
    assert life.seen == world.source
    assert not world.staged
    world.close()


def test_it_is_discarded(life: Life) -> None:
    first = discard(life)
    assert not life.world.staged
    assert (life.session.session_id, life.session.is_open) == (first.session_id, False)
    assert life.seen.keys() == {"F1"}
    report = life.trigger()
    assert report.session_id != first.session_id
    assert life.seen == life.world.source


def test_only_a_rejected_session_is_published_or_discarded(life: Life) -> None:
    with pytest.raises(NotFoundError, match=r"with the id other: it is .* in REJECTED"):
        publish(life, "other")
    life.trigger()
    for decide in (publish, discard):
        with pytest.raises(NotFoundError, match="the last session of t_OFFLINE is not a rejected one: it is"):
            decide(life)


def test_it_is_not_published_into_another_table(life: Life) -> None:
    life.world.create_table()
    with pytest.raises(ConflictError, match="no longer fits: its table was dropped"):
        publish(life)
    assert life.session.state is SessionState.REJECTED


def test_it_is_not_published_when_what_it_replaces_is_gone() -> None:
    world = World()
    life = Life(world, SWAP)
    life.write("F1")
    life.trigger()
    life.write("F2")
    life.fails(BAD)
    world.table.clear()
    with pytest.raises(ConflictError, match="1 of the segments that it would replace are gone"):
        publish(life)
    assert life.session.state is SessionState.REJECTED
    world.close()
