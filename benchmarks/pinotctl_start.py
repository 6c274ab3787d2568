"""How long ``pinotctl`` takes to start: seconds on the clock and of the processor, with warm file caches.

python -m benchmarks.pinotctl_start --repeat 20 -- --help
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.tables import save, show

_PINOTCTL = str(Path(sys.executable).with_name("pinotctl"))


def run_once(words: Sequence[str]) -> dict[str, float]:
    """Run ``pinotctl`` once; returns the seconds that it took.

    Raises:
        ChildProcessError: It ended with another exit code than 0.
    """
    begin = time.perf_counter()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        child = os.posix_spawn(_PINOTCTL, [_PINOTCTL, *words], os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise ChildProcessError(f"{_PINOTCTL} {' '.join(words)} ended with {code}")
    return {"seconds": time.perf_counter() - begin, "cpu_s": usage.ru_utime + usage.ru_stime}


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", default=["--help"], help="arguments of pinotctl")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/pinotctl_start.json"))
    arguments = parser.parse_args()

    run_once(arguments.words)  # compiles modules and fills the file caches
    runs = [run_once(arguments.words) for _ in range(arguments.repeat)]
    summaries: dict[str, Callable[[list[float]], float]] = {"median": median, "least": min, "most": max}
    show(
        [
            {"of": name, **{key: round(pick([run[key] for run in runs]), 3) for key in runs[0]}}
            for name, pick in summaries.items()
        ]
    )
    save(arguments.json, {"words": arguments.words, "runs": runs})


if __name__ == "__main__":
    main()
