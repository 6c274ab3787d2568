"""Pinot's own standalone LaunchDataIngestionJob, bound to a number of cores."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from jvm_bridge.jars import pinot_jars
from jvm_bridge.jdk import find_java

READERS = {
    "csv": "org.apache.pinot.plugin.inputformat.csv.CSVRecordReader",
    "json": "org.apache.pinot.plugin.inputformat.json.JSONRecordReader",
    "parquet": "org.apache.pinot.plugin.inputformat.parquet.ParquetRecordReader",
}
_STANDALONE = "org.apache.pinot.plugin.ingestion.batch.standalone"


def core_list(cores: int) -> str:
    """Return the first cores in the format of ``taskset``."""
    return ",".join(str(core) for core in range(cores))


def launch_job(
    controller_url: str, table: str, source: Path, file_format: str, cores: int, heap_mb: int
) -> None:
    """Build and push a segment from each file of a folder on the first cores; wait for the end."""
    spec = _write_job_spec(controller_url, table, source, file_format, cores)
    class_path = os.pathsep.join(str(path) for path in pinot_jars().class_path)
    command = [
        "taskset", "-c", core_list(cores), str(find_java().executable), f"-Xmx{heap_mb}m",
        "-Dplugins.dir=/nonexistent", "-cp", class_path,
        "org.apache.pinot.tools.admin.PinotAdministrator",
        "LaunchDataIngestionJob", "-jobSpecFile", str(spec),
    ]  # fmt: skip
    with (source.parent / f"{table}.log").open("wb") as out:
        # The job writes its log into its working directory.
        subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True, cwd=source.parent)


def _write_job_spec(controller_url: str, table: str, source: Path, file_format: str, cores: int) -> Path:
    output = source.parent / f"{table}-segments"
    shutil.rmtree(output, ignore_errors=True)
    spec = {
        "executionFrameworkSpec": {
            "name": "standalone",
            "segmentGenerationJobRunnerClassName": f"{_STANDALONE}.SegmentGenerationJobRunner",
            "segmentTarPushJobRunnerClassName": f"{_STANDALONE}.SegmentTarPushJobRunner",
        },
        "jobType": "SegmentCreationAndTarPush",
        "inputDirURI": f"file://{source}/",
        "outputDirURI": f"file://{output}/",
        "overwriteOutput": True,
        "segmentCreationJobParallelism": cores,
        "pinotFSSpecs": [{"scheme": "file", "className": "org.apache.pinot.spi.filesystem.LocalPinotFS"}],
        "recordReaderSpec": {"dataFormat": file_format, "className": READERS[file_format]},
        "tableSpec": {"tableName": table},
        "pinotClusterSpecs": [{"controllerURI": controller_url}],
        "pushJobSpec": {"pushParallelism": cores, "pushAttempts": 1},
    }
    if file_format == "csv":
        spec["recordReaderSpec"] = {
            **spec["recordReaderSpec"],  # type: ignore[dict-item]
            "configClassName": "org.apache.pinot.plugin.inputformat.csv.CSVRecordReaderConfig",
        }
    path = source.parent / f"{table}.yaml"
    path.write_text(json.dumps(spec))  # JSON is YAML
    return path
