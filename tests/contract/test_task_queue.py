"""Jobs and queues written to ZooKeeper equal those of Helix' own builders."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jpype
import pytest

from controller_client.helix.task_queue import dag_with, dag_without, job_record, queue_record
from controller_client.zookeeper.record import ZNRecord
from tests.contract.segment_child import SegmentChild

pytestmark = pytest.mark.jvm

SUBTASKS = {
    f"Task_x_{number}": {"tableName": "t", "groups": f"{number},9", "ü": "ä, b=c"} for number in range(3)
}


def test_records_are_those_of_helix(child: SegmentChild) -> None:
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
    theirs = child.call(records_of_helix, queue, job, dag)
    # Helix names a job's record only when it is written.
    assert replace(ZNRecord.from_bytes(theirs["job"].encode()), id=job) == ours
    assert _graph_read(ZNRecord.from_bytes(theirs["queue"].encode())) == _graph_read(queue_record(queue))
    assert theirs["children"] == {"a": ["b"], "b": ["c"], "c": []}
    assert theirs["parents"] == {"a": [], "b": ["a"], "c": ["b"]}


def _graph_read(record: ZNRecord) -> tuple[ZNRecord, object]:
    fields = dict(record.simple_fields)
    return replace(record, simple_fields={**fields, "Dag": ""}), json.loads(fields["Dag"])


def records_of_helix(queue_name: str, job_name: str, dag_json: str) -> dict[str, Any]:
    """In the child: return the records, and each job's neighbours in a DAG."""
    helix = jpype.JPackage("org.apache.helix.task")
    serializer = jpype.JClass("org.apache.helix.zookeeper.datamodel.serializer.ZNRecordSerializer")()
    subtasks = jpype.JClass("java.util.ArrayList")()
    for name, configs in SUBTASKS.items():
        values = jpype.JClass("java.util.HashMap")()
        for key, value in configs.items():
            values.put(key, value)
        subtasks.add(helix.TaskConfig("FileIngestionTask", values, name, None))
    job = (
        helix.JobConfig.Builder()
        .addTaskConfigs(subtasks)
        .setInstanceGroupTag("tag")
        .setTimeoutPerTask(jpype.JLong(12_500))
        .setNumConcurrentTasksPerInstance(3)
        .setMaxAttemptsPerTask(3)
        .setFailureThreshold(2**31 - 1)
        .setIgnoreDependentJobFailure(True)
        .setJobId(job_name)
        .setWorkflow(queue_name)
        .build()
    )
    # As PinotHelixTaskResourceManager.ensureTaskQueueExists.
    unlimited = helix.WorkflowConfig.Builder().setParallelJobs(2**31 - 1).build()
    queue = helix.JobQueue.Builder(queue_name).setWorkflowConfig(unlimited).build().getWorkflowConfig()
    dag = helix.JobDag.fromJson(dag_json)
    return {
        "job": bytes(serializer.serialize(job.getRecord())).decode(),
        "queue": bytes(serializer.serialize(queue.getRecord())).decode(),
        "children": {str(node): list(map(str, dag.getDirectChildren(node))) for node in dag.getAllNodes()},
        "parents": {str(node): list(map(str, dag.getDirectParents(node))) for node in dag.getAllNodes()},
    }
