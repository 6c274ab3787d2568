"""Fetches the jars of a pins file; run as a child process: jars_program.py PINS CACHE MIRROR."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jvm_bridge.jars import JarCache, Repository, parse_pins


def main() -> None:
    pins_file, folder, mirror = sys.argv[1:]
    told: list[int] = []
    pins = parse_pins("demo-1", Path(pins_file).read_text())
    jars = JarCache(Path(folder), Repository(mirror)).ensure(pins, lambda done, _total: told.append(done))
    print(json.dumps({"jars": [str(jar) for jar in jars], "told": told}))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
