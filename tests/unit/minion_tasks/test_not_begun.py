"""A scheduled run that cannot reach the cluster does not use up its trigger."""

from __future__ import annotations

from typing import Any

import pytest

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.errors import NotAppliedError, NotFoundError, PinotPluginError, UnreachableError
from minion_tasks.file_ingestion.run.fired import FiredTriggers
from minion_tasks.file_ingestion.run.trigger import run_scheduled
from minion_tasks.file_ingestion.run.types import NotBegunError, RunTools
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

TABLE = TableName("t_OFFLINE")


def tools(fails: PinotPluginError) -> RunTools:
    clock = FakeClock()
    store, _ = memory_store()
    client = ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=clock)

    def get(*_: object, **__: object) -> Any:
        raise fails

    tables: Any = client.tables
    tables.get = get
    engine: Any = None
    return RunTools(client, store, engine, clock)


@pytest.mark.parametrize(
    "error", [UnreachableError("it is unreachable"), NotAppliedError("it does not answer in time")]
)
def test_a_trigger_is_not_used_up_if_the_cluster_does_not_answer(error: PinotPluginError) -> None:
    found = tools(error)
    with pytest.raises(NotBegunError, match="it "):
        run_scheduled(found, TABLE, found.clock.now())
    assert not FiredTriggers(found.store, found.clock, "me").was_made(TABLE, found.clock.now())


def test_a_permanent_error_is_a_failure() -> None:
    found = tools(NotFoundError("there is no such table"))
    with pytest.raises(NotFoundError):
        run_scheduled(found, TABLE, found.clock.now())
