"""The child process of :mod:`tests.unit.test_hostile_bytes`: parses the inputs, each in a fork of its own.

So a crash or a lack of memory is that of one input. Run as ``python -m tests.unit.hostile_bytes``, it writes
one JSON document for each.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.unit.hostile_corpus import CASES, Make

MAX_CPU_S = 2.0
MAX_MIB = 300
_MIB = 1 << 20
_KIB = 1 << 10


def _target(name: str) -> Callable[[bytes], None]:
    module = "tests.unit.hostile_requests" if name == "http_requests" else f"tests.fuzz.{name}"
    parse: Callable[[bytes], None] = importlib.import_module(module).parse
    return parse


def _highest_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / _KIB


def _limit() -> None:
    """End this process well after its limits, which the test checks."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = size + 2 * MAX_MIB * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    max_s = int(time.process_time() + 3 * MAX_CPU_S) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (max_s, max_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_MIB * _MIB, MAX_MIB * _MIB))


def _measured(parse: Callable[[bytes], None], make: Make) -> dict[str, Any]:
    """Parse one input; called in a process of its own."""
    data = make()
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory so far is forgotten
    _limit()
    before_mib, before_s = _highest_mib(), time.process_time()
    fault = None
    try:
        parse(data)
    except BaseException as error:  # noqa: BLE001 - reported
        fault = f"{type(error).__name__}: {error}"[:500]
    return {"fault": fault, "cpu_s": time.process_time() - before_s, "mib": _highest_mib() - before_mib}


def _forked(parse: Callable[[bytes], None], make: Make) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            os.write(writing, json.dumps(_measured(parse, make)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as result:
        reply = result.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"fault": f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}"}
    return json.loads(reply) if reply else {"fault": "it ended without a result"}


def main() -> None:
    """Parse all inputs, or those of the parsers that are named."""
    for name in sys.argv[1:] or CASES:
        parse = _target(name)
        for data in (b"", b"a: 1\n", b"{}"):
            parse(data)  # what is imported on first use is not part of a case
        for what, make in CASES[name].items():
            sys.stdout.write(json.dumps({"case": f"{name}: {what}", **_forked(parse, make)}) + "\n")
            sys.stdout.flush()  # before the next fork


if __name__ == "__main__":
    main()
