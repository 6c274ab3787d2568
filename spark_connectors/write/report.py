"""The report of a commit."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller_client.common.text import WordEnum
from controller_client.publishing.switch import Switched
from spark_connectors.write.plan import WritePlan
from spark_connectors.write.staged import StagedByTask

__all__ = ["WriteOutcome", "Written", "report_commit"]

logger = logging.getLogger(__name__)


class Written(WordEnum):
    """Whether a commit published segments."""

    NOW = "written"
    NOTHING = "nothing_to_write"
    BEFORE = "committed_before"
    """An earlier write with the same id has published them."""


@dataclass(frozen=True)
class WriteOutcome:
    """The result of a successful commit.

    Attributes:
        what: Whether segments were published.
        switched: The number of replaced segments, and the servers that are behind.
        commit_s: Seconds of the commit, including the wait for the brokers' new routing.
    """

    what: Written
    switched: Switched
    commit_s: float


def report_commit(plan: WritePlan, tasks: Sequence[StagedByTask], outcome: WriteOutcome) -> None:
    """Log one line and write the report; a report that cannot be written is not an error."""
    report = _report(plan, tasks, outcome)
    logger.info(
        "%s: write %s: %s, added %d rows in %d segments (%d bytes), replaced %d segments; built %.1f s, "
        "uploaded %.1f s, committed %.1f s",
        plan.table,
        plan.write_id,
        outcome.what.words,
        report["rows"],
        report["segments"],
        report["bytes"],
        outcome.switched.replaced,
        report["build_s"],
        report["upload_s"],
        outcome.commit_s,
    )
    if plan.options.report_path is None:
        return
    path = Path(plan.options.report_path).absolute()
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        logger.warning("the report could not be written to %s: %s", path, error)


def _report(plan: WritePlan, tasks: Sequence[StagedByTask], outcome: WriteOutcome) -> dict[str, Any]:
    lines: list[dict[str, Any]] = [
        {
            "partition": task.partition,
            "rows": sum(segment.rows for segment in task.segments),
            "bytes": sum(segment.tar_size_bytes for segment in task.segments),
            "segments": [segment.name for segment in task.segments],
            "build_s": round(task.build_s, 3),
            "upload_s": round(task.upload_s, 3),
        }
        for task in tasks
    ]
    return {
        "table": plan.table,
        "write_id": plan.write_id,
        "outcome": outcome.what.value,
        "rows": sum(task["rows"] for task in lines),
        "bytes": sum(task["bytes"] for task in lines),
        "segments": sum(len(task["segments"]) for task in lines),
        "replaced_segments": outcome.switched.replaced,
        "missing_columns": list(plan.missing_columns()),
        "servers_behind": dict(outcome.switched.behind),
        "build_s": round(sum(task.build_s for task in tasks), 3),
        "upload_s": round(sum(task.upload_s for task in tasks), 3),
        "commit_s": round(outcome.commit_s, 3),
        "tasks": lines,
    }
