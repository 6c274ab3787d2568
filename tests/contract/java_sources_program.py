"""Loads Java sources in a separate process; reads one JSON document and writes the results."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import jpype

from controller_client.errors import SetupError
from jvm_bridge.java import CompileError, JavaSources, load_java
from jvm_bridge.jvm import logging_options, start_jvm_with
from tests.support.java_options import QUICK_START

# All that Pinot needs, but no compiler: like a runtime without the JDK's tools.
WITHOUT_COMPILER = "--limit-modules=java.se,jdk.unsupported"


def main() -> None:
    """``{options, loads: [{package, files, main}]}``: prints the result of each main class's ``answer()``."""
    request: dict[str, Any] = json.load(sys.stdin)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    start_jvm_with(["-Xmx256m", *QUICK_START.split(), *logging_options(), *request["options"]])
    print(json.dumps([_loaded(**load) for load in request["loads"]]))  # noqa: T201  # read by the test


def _loaded(package: str, files: list[str], main: str) -> dict[str, str]:
    try:
        load_java(JavaSources(package, tuple(map(Path, files))))
        return {"answer": str(jpype.JClass(main).answer())}
    except (CompileError, SetupError) as error:
        return {"error": type(error).__name__, "message": str(error)}


if __name__ == "__main__":
    main()
