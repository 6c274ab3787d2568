"""Builds the segments of these tests; runs as a child process, since it starts a JVM.

Arguments: a JSON file ``{table, schema, files: {segment name: JSON lines file}}``, a folder for the tars.
Prints one JSON document per segment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jvm_bridge.builder import FileFormat, SegmentBuilder
from jvm_bridge.jvm import start_jvm


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    start_jvm(max_heap_mb=256)
    builder = SegmentBuilder(order["table"], order["schema"], Path(sys.argv[2]))
    for name, file in order["files"].items():
        built = builder.from_file(
            Path(file), FileFormat.JSON, name, custom_metadata={"input.data.file.uri": f"file:///{name}.json"}
        )
        told = {
            "name": built.name,
            "tar": str(built.tar_path),
            "metadata_tar": str(built.metadata_tar_path),
            "crc": int(built.crc),
        }
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
