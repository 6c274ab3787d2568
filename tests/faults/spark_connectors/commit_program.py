"""Does what Spark's processes do in a write with one task, in one process that can be killed at each step.

A step is something that the driver's processes change: a call of the controller, or the deletion of staged
segments. One line of JSON on stdin defines what to write::

    {"options": {...}, "overwrite": true or false, "ids": [FIRST, END],
     "halt": null or {"how": "kill", "when": "before" or "after", "step": NAME, "nth": N, "since": null}}

If it is not killed, it writes the names of all steps to stdout as JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql.types import StructType

from controller_client.client import ControllerClient
from controller_client.filestore import FileStore
from jvm_bridge.jvm import start_jvm
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.plan import WritePlan
from tests.faults.file_ingestion.run_program import SteppedHttp, Steps
from tests.integration.spark_connectors.connector_program import write


def _no_pause() -> None:
    raise AssertionError("a write is killed, not stopped")


STEPS = Steps(_no_pause)


@dataclass(frozen=True)
class SteppedOptions(WriteOptions):
    """Options whose client calls are steps."""

    def client(self) -> ControllerClient:
        return ControllerClient(self.controller_config(), session=SteppedHttp(STEPS))


@dataclass(frozen=True)
class SteppedPlan(WritePlan):
    """A plan whose deletion of staged segments is a step."""

    @cached_property
    def staging_store(self) -> FileStore:
        store = super().staging_store
        delete_tree = store.delete_tree

        def stepped(directory_uri: str) -> int:
            with STEPS.step("delete staging"):
                return delete_tree(directory_uri)

        store.delete_tree = stepped  # type: ignore[method-assign]
        return store


def main() -> None:
    start_jvm()
    order = json.loads(sys.stdin.readline())
    STEPS.begin(order["halt"])
    plan = SteppedPlan.make(
        parse_options(SteppedOptions, order["options"]),
        StructType().add("id", "long"),
        overwrite=order["overwrite"],
    )
    write(plan, [[{"id": each} for each in range(*order["ids"])]])
    print(json.dumps(STEPS.done))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
