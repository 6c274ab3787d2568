"""Commands of ``pinotctl``, in this process and in others."""

from __future__ import annotations

import json

from tests.integration.deepstore.conftest import Run
from tests.integration.deepstore.peer_table import PeerTable

__all__ = ["repaired"]


def repaired(run: Run, table: PeerTable, *options: str, code: int = 0) -> dict[str, dict[str, object]]:
    """Repair a table; returns what is told of each segment."""
    answer = run("deepstore", "repair", table.name, "--yes", "--output", "json", *options, code=code)
    return {each["segment"]: each for each in json.loads(answer.stdout)}
