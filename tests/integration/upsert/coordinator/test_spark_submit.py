"""The engine spark on a standalone cluster of two workers, started by spark-submit; then a move to local."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jvm_bridge.jars import pinned_jars
from spark_connectors.upsert.session import PINS
from tests.integration.upsert.coordinator.conftest import MakeTable
from tests.integration.upsert.coordinator.test_coordinator import Feed, understand
from tests.integration.upsert.coordinator.topics import check_versions, records_of
from tests.support.java_options import QUICK_START
from tests.support.spark_cluster import BARE_PYTHON, SPARK_HOME, deps_archive, spark_cluster
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, FULL]

_TIMEOUT_S = 600.0


def test_two_workers_coordinate_and_one_process_continues(make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table({"user": "STRING", "account": "LONG", "text": "STRING"}, ["user", "account"], 3)
    feed = Feed(table, seed=31)
    feed.write(3_000, 3)
    archive = deps_archive(tmp_path)
    conf = {
        "spark.archives": f"{archive}#deps",
        "spark.executorEnv.PYTHONPATH": "./deps",
        "spark.cores.max": "2",
        "spark.executor.memory": "512m",
        # Both workers must get work, even if one is fast.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.extraJavaOptions": QUICK_START,
    }
    program = tmp_path / "coordinator.py"  # spark-submit recognizes a Python program only by its name
    program.write_text("from pinotctl import main\n\nmain()\n")
    coordinate = ["upsert", "coordinate", table.name, "--engine", "spark", "--once", "--buckets", "4"]
    coordinate += ["--checkpoint", str(table.folder / "checkpoint"), "--max-rows-per-version", "700"]
    with spark_cluster(tmp_path, workers=2) as url:
        done = subprocess.run(
            [
                *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", url),
                *(text for key, value in conf.items() for text in ("--conf", f"{key}={value}")),
                *("--jars", ",".join(map(str, pinned_jars(PINS, None).class_path))),
                *(str(program), "--controller", table.pinot.controller_url, *coordinate),
            ],
            cwd=tmp_path,
            env={**os.environ, "PYSPARK_PYTHON": BARE_PYTHON, "PYTHONPATH": str(tmp_path / "deps")},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        workers = [len(list((tmp_path / f"worker{number}").glob("app-*"))) for number in (0, 1)]
    assert workers == [1, 1], "one executor on each worker"
    by_spark = table.record()
    assert (by_spark.generation, by_spark.details["engine"]) == (1, "spark")

    feed.write(500, 3)
    table.once("--engine=local")
    after = table.record()
    assert (after.generation, after.details["engine"]) == (2, "local")
    assert after.base > by_spark.version
    feed.write(500, 3)
    table.engine = "spark"
    table.once()
    assert (table.record().generation, table.record().details["engine"]) == (3, "spark")
    assert check_versions(table.replay(), records_of(table.input(), understand)) > 5
