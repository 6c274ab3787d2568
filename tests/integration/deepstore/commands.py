"""Commands of ``pinotctl``, in this process and in others."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from tests.integration.deepstore.conftest import Run
from tests.integration.deepstore.peer_table import PeerTable
from tests.support.cluster import PinotCluster

__all__ = ["pinotctl", "repaired", "spark_words"]


def repaired(run: Run, table: PeerTable, *options: str, code: int = 0) -> dict[str, dict[str, object]]:
    """Repair a table; returns what is told of each segment."""
    answer = run("deepstore", "repair", table.name, "--yes", "--output", "json", *options, code=code)
    return {each["segment"]: each for each in json.loads(answer.stdout)}


def pinotctl(pinot: PinotCluster) -> list[str]:
    """Return the words that begin a command."""
    code = "from controller_client.cli import main; main()"
    return [sys.executable, "-c", code, "--controller", pinot.controller_url]


def spark_words(settings: Mapping[str, str]) -> list[str]:
    """Return the options that give Spark its settings."""
    return [word for pair in settings.items() for word in ("--spark-conf", "=".join(pair))]
