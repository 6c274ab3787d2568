"""Prints the configs of a job and a queue as Helix' own builders create them; runs as a child process."""

from __future__ import annotations

import json
import sys
from typing import Any

import jpype

from jvm_bridge.jvm import start_jvm


def main() -> None:
    """Read ``{queue, job, subtasks, command, tag, timeout_ms, concurrent, jobs}``; write the three."""
    request: dict[str, Any] = json.load(sys.stdin)
    start_jvm()
    helix = jpype.JPackage("org.apache.helix.task")
    serializer = jpype.JClass("org.apache.helix.zookeeper.datamodel.serializer.ZNRecordSerializer")()
    subtasks = jpype.JClass("java.util.ArrayList")()
    for name, configs in request["subtasks"].items():
        values = jpype.JClass("java.util.HashMap")()
        for key, value in configs.items():
            values.put(key, value)
        subtasks.add(helix.TaskConfig(request["command"], values, name, None))
    job = (
        helix.JobConfig.Builder()
        .addTaskConfigs(subtasks)
        .setInstanceGroupTag(request["tag"])
        .setTimeoutPerTask(jpype.JLong(request["timeout_ms"]))
        .setNumConcurrentTasksPerInstance(request["concurrent"])
        .setMaxAttemptsPerTask(3)
        .setFailureThreshold(2**31 - 1)
        .setIgnoreDependentJobFailure(True)
        .setJobId(request["job"])
        .setWorkflow(request["queue"])
        .build()
    )
    # As PinotHelixTaskResourceManager.ensureTaskQueueExists.
    unlimited = helix.WorkflowConfig.Builder().setParallelJobs(2**31 - 1).build()
    queue = helix.JobQueue.Builder(request["queue"]).setWorkflowConfig(unlimited).build().getWorkflowConfig()
    dag = helix.JobDag.fromJson(request["dag"])
    reply = {
        "job": bytes(serializer.serialize(job.getRecord())).decode(),
        "queue": bytes(serializer.serialize(queue.getRecord())).decode(),
        "children": {str(node): list(map(str, dag.getDirectChildren(node))) for node in dag.getAllNodes()},
        "parents": {str(node): list(map(str, dag.getDirectParents(node))) for node in dag.getAllNodes()},
    }
    print(json.dumps(reply))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
