"""Prints and saves results."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table


def show(rows: Sequence[dict[str, object]]) -> None:
    """Print rows with the same keys as a table."""
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    Console(width=200).print(table)


def save(path: Path, results: Mapping[str, object]) -> None:
    """Write results as JSON, with the date and a description of the machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    document = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine, **results}
    path.write_text(json.dumps(document, indent=2) + "\n")
    print(f"written to {path}")
