"""A standalone Spark cluster on this machine, and an archive of what its executors need."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from packaging.requirements import Requirement

from jvm_bridge.jdk import find_java
from tests.support.wait import wait_for

__all__ = ["BARE_PYTHON", "SPARK_HOME", "deps_archive", "spark_cluster"]

SPARK_HOME = Path(pyspark.__file__).parent
BARE_PYTHON = str(Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}"))
"""The interpreter that the virtual environment is based on: it has only the standard library."""

_PROJECT = Path(__file__).parents[2]
_PACKAGES = (
    "controller_client",
    "jvm_bridge",
    "key_coordinator",
    "minion_tasks",
    "pinotctl",
    "spark_connectors",
    "pyspark_pinot",
)
_START_TIMEOUT_S = 300.0
_END_TIMEOUT_S = 30.0


def deps_archive(folder: Path) -> Path:
    """Do what ``pip install --target deps 'pinot-plugins[executor]'; tar czf deps.tar.gz -C deps .`` does.

    It uses the packages installed here, so nothing is downloaded, and omits the packages' own tests. The
    archive is not compressed, to save each executor the work. The folder is kept as well.
    """
    deps, archive = folder / "deps", folder / "deps.tar.gz"
    deps.mkdir()
    for distribution in _distributions("pinot-plugins", "executor"):
        for file in distribution.files or ():
            source = Path(str(distribution.locate_file(file)))
            if not {"..", "tests"} & set(file.parts) and source.suffix not in (".pyc", ".pth"):
                _link(source, deps / file)
    for package in _PACKAGES:
        for source in (_PROJECT / package).rglob("*"):
            if source.is_file() and source.suffix != ".pyc":
                _link(source, deps / source.relative_to(_PROJECT))
    with tarfile.open(archive, "w:gz", compresslevel=0, dereference=True) as tar:
        tar.add(deps, ".")
    return archive


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[str]:
    """Start a master, and workers with one core and their own address each; yield the master's URL.

    Spark starts a second attempt at a slow task only on another host.
    """
    with ExitStack() as running:
        ports = ("--port", "0", "--webui-port", "0")
        master = _start(running, folder / "master", "127.0.0.1", "master.Master", *ports)
        url = _told(master, r"Starting Spark master at (spark://\S+)")
        logs = []
        for number in range(workers):
            home = folder / f"worker{number}"
            sizes = ("--cores", "1", "--memory", "1g", "--work-dir", str(home))
            address = f"127.0.0.{number + 2}"
            logs.append(_start(running, home, address, "worker.Worker", *sizes, "--webui-port", "0", url))
        for log in logs:
            _told(log, r"(Successfully registered) with master")
        yield url


def _start(running: ExitStack, home: Path, address: str, role: str, *arguments: str) -> Path:
    """Start a role of the cluster; return its log."""
    home.mkdir()
    log = home / "log"
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host", address, *arguments],
            cwd=home,
            env={
                **environment,
                "SPARK_HOME": str(SPARK_HOME),
                "SPARK_LOCAL_IP": address,
                "JAVA_HOME": str(find_java().home),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running.callback(_end, process)
    return log


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_END_TIMEOUT_S)


def _told(log: Path, pattern: str) -> str:
    """Wait until a log matches a pattern; return the pattern's group."""

    def said() -> re.Match[str] | None:
        return re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))

    found = wait_for(said, f"{pattern!r} in {log}", _START_TIMEOUT_S)
    assert found is not None
    return found[1]


def _distributions(name: str, extra: str) -> Iterator[importlib.metadata.Distribution]:
    """What pip would install for a package with an extra, from what is installed here."""
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [(name, frozenset({extra}))]
    while todo:
        name, extras = wanted = todo.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        distribution = importlib.metadata.distribution(name)
        yield distribution
        for need in map(Requirement, distribution.requires or ()):
            marker = need.marker
            if marker is None or any(marker.evaluate({"extra": each}) for each in (*extras, "")):
                todo += [(need.name, frozenset(need.extras))]


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        target.symlink_to(source)
