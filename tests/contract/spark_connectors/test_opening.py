"""The Python of workers, the number of parallel tasks, and the reporting of failures."""

from __future__ import annotations

import pickle
import sys

import pytest

from controller_client.config import BasicAuth, ControllerConfig, Secret
from minion_tasks.file_ingestion.engine.subtask import SubtaskCluster
from spark_connectors.faults import in_short
from spark_connectors.file_ingestion.worker import RunSubtask
from spark_connectors.session import choose_workers_python, task_slots

CLUSTER = {"spark.master": "spark://host:7077"}


@pytest.mark.parametrize(
    ("conf", "environ", "python"),
    [
        ({}, {}, sys.executable),
        ({"spark.master": "local[4]"}, {}, sys.executable),
        ({"spark.master": "local[4]"}, {"PYSPARK_PYTHON": "/theirs"}, "/theirs"),
        ({**CLUSTER, "spark.pyspark.python": "/there"}, {"PYSPARK_PYTHON": "/theirs"}, "/there"),
        (CLUSTER, {}, None),
        ({}, {"PYSPARK_GATEWAY_PORT": "1"}, None),
    ],
)
def test_the_python_of_the_workers(conf: dict[str, str], environ: dict[str, str], python: str | None) -> None:
    choose_workers_python(conf, environ)
    assert environ.get("PYSPARK_PYTHON") == python


@pytest.mark.parametrize(
    ("conf", "registered", "slots"),
    [
        ({"spark.master": "local[3]"}, 3, 3),
        ({"spark.master": "local[3]", "spark.executor.instances": "9"}, 3, 3),
        (CLUSTER, 2, 2),
        ({**CLUSTER, "spark.cores.max": "6"}, 2, 6),
        ({**CLUSTER, "spark.executor.instances": "4", "spark.executor.cores": "5"}, 2, 20),
        ({**CLUSTER, "spark.executor.instances": "4", "spark.cores.max": "3"}, 2, 3),
        ({"spark.master": "yarn", "spark.executor.instances": "4"}, 2, 4),
        ({"spark.master": "yarn", "spark.dynamicAllocation.enabled": "true"}, 2, 2),
        (
            {
                "spark.master": "yarn",
                "spark.dynamicAllocation.enabled": "true",
                "spark.dynamicAllocation.maxExecutors": "10",
                "spark.executor.cores": "2",
            },
            2,
            20,
        ),
        ({"spark.master": "local[5]", "spark.task.cpus": "2"}, 5, 2),
        ({"spark.master": "local[1]", "spark.task.cpus": "2"}, 1, 1),
    ],
)
def test_how_many_tasks_run_in_parallel(conf: dict[str, str], registered: int, slots: int) -> None:
    assert task_slots(conf, registered) == slots


def test_a_failure_is_reported_in_one_line() -> None:
    java = "An error occurred while calling o1.x.\n: org.apache.spark.SparkException: it broke\n\tat a.b(C:1)"
    assert in_short(RuntimeError(java)) == "org.apache.spark.SparkException: it broke"
    assert in_short(RuntimeError()) == "RuntimeError"


def test_the_repr_of_pickled_objects_shows_no_credentials() -> None:
    auth = BasicAuth("me", Secret("hush"))
    run = RunSubtask(SubtaskCluster(ControllerConfig("http://c:9000", auth=auth), "z:2181", "c"), 60.0)
    copy = pickle.loads(pickle.dumps(run))  # noqa: S301  # its own
    assert copy == run
    assert "hush" not in repr(copy)
