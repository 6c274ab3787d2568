"""Runs a subtask: turns the files of its groups into staged segments. All engines share this code.

A subtask does not change the table. It may run twice (Helix and Spark restart it elsewhere if a process
dies), so each attempt stages segments under unique names, and the first result saved for a file wins.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from controller_client.client import ControllerClient
from controller_client.common.folders import scratch_folder
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from jvm_bridge.builder import SegmentBuilder
from minion_tasks.file_ingestion.engine.group_run import GroupRun, OnBuilt, SubtaskFailedError
from minion_tasks.file_ingestion.engine.staging_builder import StagingBuilder
from minion_tasks.file_ingestion.engine.subtask import Subtask, SubtaskCluster
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams
from minion_tasks.file_ingestion.session.store import SessionStore
from minion_tasks.sources.base import columns_read

__all__ = ["read_table", "run_subtask"]


def read_table(client: ControllerClient, table: str) -> tuple[FileIngestionParams, TableConfig, Schema]:
    """Read a table's config, task parameters and schema from the controller.

    Raises:
        ConfigError: The table has no such task, or its parameters are invalid.
        NotFoundError: There is no such table, or no schema for it.
    """
    config = client.tables.in_use(table)
    params = FileIngestionParams.from_configs(config.task_config(TASK_TYPE) or {})
    return params, config, client.schemas.of_table(config)


def run_subtask(
    subtask: Subtask,
    cluster: SubtaskCluster,
    work_dir: Path,
    is_cancelled: Callable[[], bool],
    on_built: OnBuilt = lambda _entries, _built: None,
) -> None:
    """Stage the files of a subtask's groups; the JVM must run in this process.

    Args:
        subtask: The subtask.
        cluster: The cluster.
        work_dir: For temporary files, which are deleted after use.
        is_cancelled: Checked between files, in the subtask's thread.
        on_built: Called in that thread with the result of files.

    Raises:
        SubtaskFailedError: At least one file failed.
        NotAppliedError: The session no longer wants this subtask, or it was cancelled.
    """
    table = subtask.table
    with (
        ControllerClient(cluster.controller) as client,
        PropertyStore(cluster.zookeeper, cluster.name, access=cluster.access) as store,
        scratch_folder("pinot-subtask-", work_dir) as folder,
    ):
        sessions = SessionStore(store, table)
        session = sessions.load(subtask.session_id)
        params, config, schema = read_table(client, table)
        builder = StagingBuilder(
            session,
            params,
            SegmentBuilder(
                config,
                schema,
                folder,
                reader=params.segment_reader,
                rules=params.rules,
            ),
            folder,
            client.clock,
            columns=columns_read(config.to_json(), schema.to_json()),
        )
        failures = []
        for number in subtask.groups:
            run = GroupRun(
                sessions,
                subtask.session_id,
                number,
                attempt=subtask.attempt,
                build=builder,
                params=params,
                is_cancelled=is_cancelled,
                on_built=on_built,
                clock=client.clock,
            )
            try:
                run.run()
            except SubtaskFailedError as error:
                failures.append(error)
    if len(failures) > 1:
        raise SubtaskFailedError(
            f"{len(failures)} of {len(subtask.groups)} groups failed; first error: {failures[0]}"
        )
    if failures:
        raise failures[0]
