"""Segments that a test pushes, built from rows in a child process, which has a JVM.

As a program it takes a JSON file ``{table, schema, files: {segment name: JSON lines file}}`` and a folder for
the tars, and prints one JSON document per segment.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BuiltSegment", "build_segments"]

_BUILD_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class BuiltSegment:
    """A segment in the file system; ``rows`` are what it was built from."""

    name: str
    tar: Path
    metadata_tar: Path
    crc: int
    rows: Sequence[Mapping[str, Any]]


def build_segments(
    folder: Path,
    schema: Mapping[str, Any],
    table: Mapping[str, Any],
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
) -> list[BuiltSegment]:
    """Build segments.

    Args:
        folder: An empty folder.
        schema: The schema.
        table: The table config.
        rows: The rows of each segment, by its name.
    """
    files = {name: folder / f"{name}.json" for name in rows}
    for name, file in files.items():
        file.write_text("".join(json.dumps(row) + "\n" for row in rows[name]))
    order, tars = folder / "order.json", folder / "tars"
    tars.mkdir()
    paths = {name: str(file) for name, file in files.items()}
    order.write_text(json.dumps({"table": table, "schema": schema, "files": paths}))
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(order), str(tars)],
        capture_output=True,
        text=True,
        timeout=_BUILD_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    built = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [
        BuiltSegment(
            each["name"], Path(each["tar"]), Path(each["metadata_tar"]), each["crc"], rows[each["name"]]
        )
        for each in built
    ]


def _main() -> None:
    from jvm_bridge.builder import FileFormat, SegmentBuilder
    from jvm_bridge.jvm import start_jvm

    order = json.loads(Path(sys.argv[1]).read_text())
    start_jvm(max_heap_mb=256)
    builder = SegmentBuilder(order["table"], order["schema"], Path(sys.argv[2]))
    for name, file in order["files"].items():
        source = {"input.data.file.uri": f"file:///{name}.json"}
        built = builder.from_file(Path(file), FileFormat.JSON, name, custom_metadata=source)
        document = {
            "name": built.name,
            "tar": str(built.tar_path),
            "metadata_tar": str(built.metadata_tar_path),
            "crc": int(built.crc),
        }
        sys.stdout.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    _main()
