"""Fuzzes a parser, or all of them one after the other; needs the package atheris."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

import atheris

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
NAMES = sorted(path.stem for path in HERE.glob("[a-z]*.py") if path.stem != "scratch")
PACKAGES = [
    "controller_client",
    "jvm_bridge",
    "key_coordinator",
    "minion_tasks",
    "server_hooks",
    "spark_connectors",
    "yaml",
    "fastavro",
]
_LONGEST_INPUT_S = 10
_MAX_MIB = 2048


def main() -> int:
    """Run the targets that are named; returns 1 if one found something."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all"])
    parser.add_argument("--minutes", type=float, default=3.0, help="time for each target")
    parser.add_argument(
        "--work", type=Path, default=Path("fuzz-work"), help="folder for new inputs and findings"
    )
    parser.add_argument("--input", type=Path, help="only run this input")
    given = parser.parse_args()
    if given.name == "all":
        command = [
            sys.executable,
            "-m",
            "tests.fuzz",
            "--minutes",
            str(given.minutes),
            "--work",
            str(given.work),
        ]
        failed = [name for name in NAMES if subprocess.run([*command, name], check=False).returncode]
        sys.stdout.write(f"targets with findings: {', '.join(failed) or 'none'}\n")
        return int(bool(failed))
    work = given.work / given.name
    (work / "corpus").mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=PACKAGES):
        parse = importlib.import_module(f"tests.fuzz.{given.name}").parse
    options = [
        f"-artifact_prefix={work}/",
        f"-max_total_time={given.minutes * 60:.0f}",
        f"-timeout={_LONGEST_INPUT_S}",
        f"-rss_limit_mb={_MAX_MIB}",
        "-max_len=65536",
        "-print_final_stats=1",
    ]
    corpus = [str(given.input)] if given.input else [str(work / "corpus"), str(CORPUS / given.name)]
    atheris.Setup([given.name, *options, *corpus], parse)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
