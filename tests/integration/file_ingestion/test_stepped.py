"""A run that is started, watched and ended in separate steps, on minions."""

from __future__ import annotations

import pytest

from controller_client.clock import SystemClock
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.minion import EngineContext
from minion_tasks.file_ingestion.run.stepped import RunWatch, begin_run, end_run, stop_run
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunTools
from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.integration.file_ingestion.scenes.source import Source
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


def test_a_stopped_run_is_resumed_by_the_next_try(
    store: PropertyStore, source: Source, ingestion_table: IngestionTable
) -> None:
    table = ingestion_table.create().register(
        source.uri,
        "csv",
        consistentPushMaxRetries="1",
        **source.proxy.access.task_parameters,
    )
    source.put("F1", "F2")
    held = source.proxy.hold("GET", source.of("F2"))
    clock = SystemClock()
    engines = Engines.installed(EngineContext(table.client, store, clock))
    tools = RunTools(table.client, store, engines, clock)
    begun = begin_run(tools, table.name, "me")
    session_id = begun.session_id or ""
    held.wait_hit()
    watch = RunWatch(tools, table.name, session_id)
    assert (begun.outcome, watch.poll()[0]) == (RunOutcome.BEGUN, False)
    assert stop_run(tools, table.name, session_id)
    wait_for(lambda: watch.poll()[0], "the subtasks to end")
    with pytest.raises(FilesFailedError, match="retries left: 1"):
        end_run(tools, table.name, "me", session_id)
    assert table.segments() == []
    # A stopped subtask still stages its current file, so that file is blocked until the next run has
    # started.
    again = begin_run(tools, table.name, "me")
    held.lift()
    assert (again.outcome, again.session_id, again.retry_count) == (RunOutcome.BEGUN, session_id, 1)
    wait_for(lambda: watch.poll()[0], "the subtasks to end")
    ended = end_run(tools, table.name, "me", session_id)
    assert (ended.outcome, ended.files, ended.rows) == (RunOutcome.SWITCHED, 2, 11 + 12)
    table.wait_count(23)
