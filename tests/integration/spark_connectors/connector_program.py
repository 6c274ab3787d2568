"""Reads and writes as Spark's Python processes do, but all in one process, with a JVM and without Spark.

A command is a line of JSON, ``{"options": {...}, "schema": SCHEMA or null}``; a write also has its ``mode``
and, in ``tasks``, the rows of each task. The answer is ``{"rows": [...]}`` or ``{"error": TEXT}``.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from controller_client.errors import PinotPluginError
from spark_connectors import PinotDataSource
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.types import arrow_schema
from spark_connectors.write.commit import abort, commit
from spark_connectors.write.plan import WritePlan
from spark_connectors.write.staging_task import stage


def read(options: dict[str, str], schema: StructType | None) -> list[dict[str, Any]]:
    """Plan a read, and run its tasks one after the other."""
    source = PinotDataSource(options)
    reader = source.reader(schema or source.schema())
    rows: list[dict[str, Any]] = []
    for partition in reader.partitions():
        # As on their way to an executor.
        task_reader, own = pickle.loads(pickle.dumps((reader, partition)))  # noqa: S301
        for batch in task_reader.read(own):
            rows += batch.to_pylist()
    return rows


def write(plan: WritePlan, tasks: list[list[dict[str, Any]]]) -> None:
    """Stage the rows of each task, and commit all; abort if that fails."""
    arrow = arrow_schema(plan.frame)
    batches = [pa.RecordBatch.from_pylist(rows, arrow) for rows in tasks]
    try:
        commit(plan, [stage(plan, iter([batch]), number) for number, batch in enumerate(batches)])
    except PinotPluginError:
        abort(plan)
        raise


def main() -> None:
    # Other output to stdout, such as Java's, goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    while line := sys.stdin.readline():
        order = json.loads(line)
        schema = StructType.fromJson(order["schema"]) if order["schema"] else None
        try:
            if "mode" in order:
                assert schema is not None
                options = parse_options(WriteOptions, order["options"])
                plan = WritePlan.make(options, schema, overwrite=order["mode"] == "overwrite")
                write(plan, order["tasks"])
                answer: dict[str, Any] = {"rows": []}
            else:
                answer = {"rows": read(order["options"], schema)}
        except PinotPluginError as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
