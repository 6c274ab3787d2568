"""What follows a call does not change what is known of the call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller_client.as_code.inventory import Inventory
from controller_client.as_code.objects import ObjectRef
from controller_client.as_code.writing import ObjectWriter
from controller_client.client import ControllerClient
from controller_client.common.outcomes import keeping_outcome
from controller_client.config import ControllerConfig
from controller_client.errors import (
    AppliedError,
    ConfigError,
    ConflictError,
    NotAppliedError,
    OutcomeUnknownError,
    UnreachableError,
)
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

UNKNOWN = OutcomeUnknownError("the reply was lost")


def follow(known: OutcomeUnknownError | AppliedError, failure: Exception) -> None:
    with keeping_outcome(known):
        raise failure


@pytest.mark.parametrize("known", [UNKNOWN, AppliedError("it was written")])
@pytest.mark.parametrize("failure", [UnreachableError("away"), ConflictError("changed")])
def test_a_read_that_was_not_applied_does_not_say_so_of_the_call(
    known: OutcomeUnknownError | AppliedError, failure: NotAppliedError
) -> None:
    with pytest.raises(type(known)) as caught:
        follow(known, failure)
    assert caught.value is known
    assert caught.value.__cause__ is failure


def test_other_failures_stay() -> None:
    with pytest.raises(ConfigError, match="wrong"):
        follow(UNKNOWN, ConfigError("wrong"))


@pytest.fixture
def client() -> Iterator[ControllerClient]:
    """A client of a controller that does not answer."""
    with ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=FakeClock()) as client:
        yield client


def test_a_deletion_whose_reply_was_lost_stays_unknown_if_the_controller_goes_away(
    client: ControllerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_name: str) -> None:
        raise UNKNOWN

    monkeypatch.setattr(client.tables, "delete", lose)
    writer = ObjectWriter(client, Inventory(memory_store()[0], "us"))
    with pytest.raises(OutcomeUnknownError):
        writer.delete(ObjectRef.from_key("tables/x_OFFLINE"))
