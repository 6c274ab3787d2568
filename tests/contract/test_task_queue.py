"""Jobs and queues written to ZooKeeper equal those of Helix' own builders."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from controller_client.helix.task_queue import dag_with, dag_without, job_record, queue_record
from controller_client.zookeeper.record import ZNRecord
from tests.support.program import result_of

pytestmark = pytest.mark.jvm

SUBTASKS = {
    f"Task_x_{number}": {"tableName": "t", "groups": f"{number},9", "ü": "ä, b=c"} for number in range(3)
}


def test_records_are_those_of_helix() -> None:
    queue, job = "TaskQueue_FileIngestionTask", "TaskQueue_FileIngestionTask_Task_x"
    ours = job_record(
        job,
        queue,
        SUBTASKS,
        command="FileIngestionTask",
        minion_tag="tag",
        timeout_s=12.5,
        concurrent_per_instance=3,
    )
    dag = queue_record(queue).simple_fields["Dag"]
    for name in ("x", "a", "y", "b", "c", "z"):
        dag = dag_with(dag, name)
    for name in ("y", "z", "x"):
        dag = dag_without(dag, name) or ""
    assert dag_without(dag, "x") is None
    request = {
        "queue": queue,
        "job": job,
        "subtasks": SUBTASKS,
        "command": "FileIngestionTask",
        "tag": "tag",
        "timeout_ms": 12500,
        "concurrent": 3,
        "dag": dag,
    }
    theirs = result_of("tests.contract.helix_program", request)

    # Helix names a job's record only when it is written.
    assert replace(ZNRecord.from_bytes(theirs["job"].encode()), id=job) == ours
    assert _graph_read(ZNRecord.from_bytes(theirs["queue"].encode())) == _graph_read(queue_record(queue))
    assert theirs["children"] == {"a": ["b"], "b": ["c"], "c": []}
    assert theirs["parents"] == {"a": [], "b": ["a"], "c": ["b"]}


def _graph_read(record: ZNRecord) -> tuple[ZNRecord, object]:
    fields = dict(record.simple_fields)
    return replace(record, simple_fields={**fields, "Dag": ""}), json.loads(fields["Dag"])
