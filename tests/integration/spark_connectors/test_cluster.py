"""A Spark cluster whose machines lack this project, which is shipped to them in an archive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from tests.integration.file_ingestion.ingestion import ended, start_pinotctl, write_numbers
from tests.integration.spark_connectors.conftest import MakeTable, SparkTable
from tests.support.cluster import PinotCluster
from tests.support.java_options import QUICK_START
from tests.support.spark_cluster import BARE_PYTHON, SPARK_HOME, deps_archive, spark_cluster
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster]

SCHEMA = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}, {"name": "name", "dataType": "STRING"}],
    "metricFieldSpecs": [{"name": "x", "dataType": "DOUBLE"}],
}
NUMBERS = {
    "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}, {"name": "word", "dataType": "STRING"}],
    "metricFieldSpecs": [{"name": "amount", "dataType": "DOUBLE"}],
}
PROGRAM = Path(__file__).with_name("cluster_program.py")
# A second attempt is for tasks that hang, not for those that start a JVM.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
    "spark.speculation.minTaskRuntime": "2s",
}


@dataclass(frozen=True)
class SparkCluster:
    """A master, two workers, and the settings for Spark."""

    url: str
    deps: Path
    conf: Mapping[str, str]

    def settings(self, flag: str) -> list[str]:
        return [text for key, value in self.conf.items() for text in (flag, f"{key}={value}")]


@pytest.fixture(scope="module")
def cluster(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    folder = tmp_path_factory.mktemp("spark")
    for package in ("spark_connectors", "kazoo", "jpype"):
        imports = [BARE_PYTHON, "-E", "-c", f"import {package}"]
        done = subprocess.run(imports, cwd=folder, capture_output=True, text=True)
        assert f"No module named '{package}'" in done.stderr
    archive = deps_archive(folder)
    conf = {
        "spark.archives": f"{archive}#deps",
        "spark.executorEnv.PYTHONPATH": "./deps",
        "spark.cores.max": "2",
        "spark.executor.memory": "512m",
        # Both workers must get work, even if one is faster.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.extraJavaOptions": QUICK_START,
    }
    with spark_cluster(folder, workers=2) as url:
        yield SparkCluster(url, folder / "deps", conf)


def files_table(make_table: MakeTable, folder: Path) -> SparkTable:
    """A table with FileIngestionTask and four files of 100 rows, one Spark task each."""
    table = make_table(NUMBERS)
    for number in range(4):
        write_numbers(folder, f"{number}.csv", 100 * number, 100)
    configs = {"inputDirURI": f"file://{folder}", "inputFormat": "csv", "consistentPushEnabled": "true"}
    table.client.tables.set_task_config(
        table.typed, TASK_TYPE, {**configs, "engine": "spark", "taskMaxNumFilesPerTask": "1"}
    )
    return table


def test_rows_and_files_come_from_two_workers_once(
    pinot: PinotCluster, cluster: SparkCluster, make_table: MakeTable, tmp_path: Path
) -> None:
    """One application: a DataFrame with one task that runs twice concurrently, and FileIngestionTask."""
    table, files = make_table(SCHEMA), files_table(make_table, tmp_path / "in")
    arguments = (pinot.controller_url, pinot.zookeeper_address, pinot.cluster_name, table.name, files.name)
    done = subprocess.run(
        [
            *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url, *cluster.settings("--conf")),
            *(text for key, value in SPECULATION.items() for text in ("--conf", f"{key}={value}")),
            *(str(PROGRAM), *arguments),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": BARE_PYTHON, "PYTHONPATH": str(cluster.deps)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["python"] == BARE_PYTHON
    folders = {folder for _, folder, _ in result["places"]}
    assert len(folders) == 2, "an executor on each worker"
    assert {source for source, _, _ in result["places"]} == {
        f"{folder}/deps/spark_connectors/__init__.py" for folder in folders
    }
    assert len({local for _, _, local in result["places"]} - {tempfile.gettempdir()}) == 2
    # The first attempt at one of the tasks never ended; its rows come from the second.
    assert table.query("count(*), sum(x), distinctcount(name)") == [(1000, 249750.0, 7)]
    assert len(table.segments()) == 4 * 3
    assert table.staged() == []
    assert (result["outcome"], result["files"]) == ("switched", 4)
    assert files.query("count(*), sum(id)") == [(400, sum(range(400)))]


def test_pinotctl_starts_spark_on_two_workers(
    pinot: PinotCluster, cluster: SparkCluster, make_table: MakeTable, tmp_path: Path
) -> None:
    table = files_table(make_table, tmp_path / "in")
    spark = ("--spark-master", cluster.url, "--spark-conf", f"spark.pyspark.python={BARE_PYTHON}")
    arguments = (*spark, *cluster.settings("--spark-conf"), "--output", "json")
    ran = ended(start_pinotctl(pinot.controller_url, "task", "run", table.name, *arguments))
    assert (ran.report["outcome"], ran.report["files"], ran.report["segments"]) == ("switched", 4, 4)
    assert table.query("count(*), sum(id)") == [(400, sum(range(400)))]
    assert sys.executable != BARE_PYTHON
