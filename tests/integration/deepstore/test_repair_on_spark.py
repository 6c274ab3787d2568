"""Segments get their copies from Spark's executors."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

import pytest

from tests.integration.deepstore.commands import repaired
from tests.integration.deepstore.conftest import Audit, MakeTable, Run
from tests.support.cluster import PinotCluster
from tests.support.faulty_s3 import FaultyS3
from tests.support.pinot_services import DEEP_STORE_BUCKET
from tests.support.pinotctl import pinotctl
from tests.support.processes import children_running
from tests.support.spark import LOCAL_SPARK, spark_words
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3]


def outcomes_of(commands: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Run repairs in parallel, all of which must succeed; return segments and outcomes, sorted."""
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    printed = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(commands)
    return sorted((each["segment"], each["outcome"]) for text in printed for each in json.loads(text))


def test_spark_repairs(make_table: MakeTable, run: Run, audit: Audit, pinot: PinotCluster) -> None:
    table = make_table(partitions=2)
    table.fill(2)
    segments = set(table.committed())
    table.open_store()
    spark = spark_words(LOCAL_SPARK)
    dry = repaired(run, table, "--engine", "spark", "--dry-run", *spark)
    assert {each["outcome"] for each in dry.values()} == {"would_repair"}

    command = pinotctl(
        "deepstore", "repair", table.name, "--yes", "--output", "json", controller=pinot.controller_url
    )
    command += ["--engine", "spark", *spark]
    assert outcomes_of([command]) == [(name, "repaired") for name in sorted(segments)]
    assert audit(table.table, "--min-copies", "3") == {}
    assert repaired(run, table, "--engine", "spark", *spark) == {}

    for name in segments:
        table.delete_object(name)
    outcomes = outcomes_of([command, command])
    assert [name for name, outcome in outcomes if outcome == "repaired"] == sorted(segments)
    assert {outcome for _, outcome in outcomes} <= {"repaired", "good_already"}
    assert audit(table.table, "--min-copies", "3") == {}
    # An error that only an executor sees is reported with its segment.
    gone = min(segments)
    table.delete_object(gone)
    command += ["--spark-conf", "spark.executorEnv.AWS_SECRET_ACCESS_KEY=wrong"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=300)
    assert answer.returncode == 1
    (failed,) = json.loads(answer.stdout)
    assert (failed["segment"], failed["outcome"]) == (gone, "failed")
    assert f"s3://{DEEP_STORE_BUCKET}/{table.folder_key}/{gone}" in failed["message"]
    assert repaired(run, table)[gone]["outcome"] == "repaired"


def test_spark_loses_its_executors_during_a_repair(
    make_table: MakeTable, audit: Audit, pinot: PinotCluster, faulty_s3: FaultyS3
) -> None:
    table = make_table(partitions=2)
    table.fill(2)
    segments = set(table.committed())
    table.open_store()
    settings = {**LOCAL_SPARK, "spark.master": "local-cluster[2,1,512]", "spark.executor.memory": "512m"}
    command = pinotctl(
        "deepstore", "repair", table.name, "--yes", "--output", "json", controller=pinot.controller_url
    )
    command += ["--engine", "spark", *spark_words(settings)]
    hold = faulty_s3.hold("PUT", f"{DEEP_STORE_BUCKET}/{table.folder_key}/*")
    environment = {**os.environ, "AWS_ENDPOINT_URL_S3": faulty_s3.url}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        hold.wait_hit()
        executors = children_running("CoarseGrainedExecutorBackend", process.pid)
        assert len(executors) == 2
        for each in executors:
            each.kill()
        hold.lift()
        printed = json.loads(process.communicate(timeout=300)[0])
    assert process.returncode == 0
    assert {each["segment"] for each in printed} == segments
    # The blocked upload may still have finished, in a Python worker that outlived its executor.
    assert {each["outcome"] for each in printed} <= {"repaired", "good_already"}
    assert audit(table.table, "--min-copies", "3") == {}
