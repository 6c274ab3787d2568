"""Key coordinators, each in its own process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.pinotctl import pinotctl
from tests.support.spark import spark_words

__all__ = ["start_coordinator"]

_REPOSITORY = Path(__file__).parents[2]


def start_coordinator(
    table: str,
    folder: Path,
    controller_url: str,
    *options: str,
    spark: Mapping[str, str] | None = None,
    checkpoint: str = "checkpoint",
) -> subprocess.Popen[bytes]:
    """Start the coordinator of a table, or restart it with its checkpoint.

    Args:
        table: Raw name.
        folder: Folder for its checkpoint and its log, ``coordinator.log``; each start appends to the log.
            The coordinator finds what is installed there (``tests.support.installed``).
        controller_url: The cluster's controller.
        options: Further arguments of ``pinotctl upsert coordinate``.
        checkpoint: The folder of its checkpoint, below ``folder``.
        spark: Spark's settings, for the engine ``spark``; None: the engine ``local``.
    """
    folder = folder.absolute()
    words = ["upsert", "coordinate", table, "--checkpoint", str(folder / checkpoint)]
    engine = ["--engine=local"] if spark is None else ["--engine=spark", *spark_words(spark)]
    command = pinotctl(*words, *engine, *options, controller=controller_url)
    path = os.pathsep.join((str(folder), str(_REPOSITORY)))
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "coordinator.log").open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=folder
        )
