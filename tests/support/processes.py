"""The backend for machines without a container engine: one process per service."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from jvm_bridge.jdk import find_java
from tests.support.file_lock import file_lock
from tests.support.jars import jars_of, start_files
from tests.support.pinotctl import pinotctl
from tests.support.s3_program import s3_program
from tests.support.service import HOME, Program, RunningService, Service

__all__ = ["ProcessBackend", "children_running", "host_command"]

_SCRIPTS = {
    Program.PINOT: Path(__file__).parent.parent / "images" / "pinot" / "pinot-admin.sh",
    Program.KAFKA: Path(__file__).parent.parent / "images" / "kafka" / "kafka.sh",
}
_HOME_VARIABLES = {Program.PINOT: "PINOT_HOME", Program.KAFKA: "KAFKA_HOME"}
_SIGNAL_TIMEOUT_S = 10.0
_POLL_S = 0.01
_MARK = "pid"
"""File in a service's folder with its process' id and start: a later process may have the same id."""

# They outlive this process, but while it lives, only it learns of their ends.
_CHILDREN: list[subprocess.Popen[bytes]] = []


class ProcessBackend:
    """Starts services as processes that outlive the one that starts them.

    Args:
        folder: Folder of the session; each service gets a subfolder.
    """

    name = "processes"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def launch(self, service: Service) -> RunningService:
        home = self._folder / service.name
        with file_lock(self._folder / f"{service.name}.lock"):
            command, environment = host_command(service.program, self._folder)
            command += [argument.replace(HOME, str(home)) for argument in service.arguments]
            environment |= {
                name: value.replace(HOME, str(home)) for name, value in service.environment.items()
            }
            running = _RunningProcess(service, home, command, environment)
            if running.state() == "ended":
                for name, text in service.files.items():
                    (home / name).parent.mkdir(parents=True, exist_ok=True)
                    (home / name).write_text(text.replace(HOME, str(home)), encoding="utf-8")
                running.start()
        return running

    def end(self, name: str) -> None:
        """End a service of the session, if it runs, whichever process has launched it."""
        _end(self._folder / name / _MARK)

    def close(self) -> None:
        for mark in self._folder.glob(f"*/{_MARK}"):
            _end(mark)


def host_command(program: Program, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that run a program on this machine.

    Args:
        program: The program.
        folder: Folder for the files that its start script reads.
    """
    environment = dict(os.environ)
    if program is Program.S3:
        return [str(s3_program())], environment
    if program is Program.PINOTCTL:
        return pinotctl(), environment
    if program is Program.PYTHON:
        return [sys.executable], environment
    home = folder / f"{program}-home"
    etc = home / "etc"
    with file_lock(folder / f"{program}-home.lock"):
        if not etc.exists():
            etc.mkdir(parents=True)
            for name, text in start_files(jars_of(program).class_path).items():
                (etc / name).write_text(text, encoding="utf-8")
    environment[_HOME_VARIABLES[program]] = str(home)
    environment["JAVA_HOME"] = str(find_java().home)
    return ["/bin/sh", str(_SCRIPTS[program])], environment


def children_running(text: str, pid: int | None = None) -> list[psutil.Process]:
    """Return the processes below one that run something.

    Args:
        text: Part of their command lines.
        pid: The process above them; None: this one.
    """
    running = []
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if text in " ".join(child.cmdline()):
                running.append(child)
    return running


class _RunningProcess:
    def __init__(self, service: Service, home: Path, command: list[str], environment: dict[str, str]) -> None:
        self.service = service
        self._home = home
        self._command = command
        self._environment = environment
        self._output = home / "output.log"
        self._mark = home / _MARK

    def state(self) -> str:
        return "ended" if _process(self._mark) is None else "running"

    def start(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        with self._output.open("ab") as output:
            started = subprocess.Popen(
                self._command,
                cwd=self._home,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for pytest, which then stops them in order
            )
        _CHILDREN.append(started)
        self._mark.write_text(_mark_of(psutil.Process(started.pid)), encoding="utf-8")

    def kill(self) -> None:
        _end(self._mark)

    def suspend(self) -> None:
        process = self._running()
        process.suspend()
        # On a busy machine its threads go on for a while: long enough to read from Kafka once more.
        _wait_until(lambda: _is_suspended(process.pid), f"{self.service.name} is not suspended")

    def resume(self) -> None:
        self._running().resume()

    def logs(self, lines: int) -> str:
        with self._output.open(encoding="utf-8", errors="replace") as output:
            return "".join(deque(output, maxlen=lines))

    def put_file(self, path: str, content: bytes) -> None:
        (self._home / path).write_bytes(content)

    def _running(self) -> psutil.Process:
        process = _process(self._mark)
        assert process is not None, f"{self.service.name} has ended"
        return process


def _end(mark: Path) -> None:
    """Kill the process of a mark, and wait until it has ended."""
    process = _process(mark)
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            process.kill()
        _wait_until(lambda: _process(mark) is None, f"{mark.parent.name} did not end")


def _wait_until(condition: Callable[[], bool], failure: str) -> None:
    deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, f"{failure} after {_SIGNAL_TIMEOUT_S:g} s"
        time.sleep(_POLL_S)


def _is_suspended(pid: int) -> bool:
    """Return whether each thread of a process has stopped."""
    stats = (
        path.read_text(encoding="utf-8", errors="replace")
        for path in Path(f"/proc/{pid}/task").glob("*/stat")
    )
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def _process(mark: Path) -> psutil.Process | None:
    """Return the process of a mark, or None if it has ended, even if its parent does not know yet."""
    for child in _CHILDREN:
        child.poll()
    try:
        text = mark.read_text(encoding="utf-8")
        process = psutil.Process(int(text.partition(":")[0]))
        alive = _mark_of(process) == text and not _has_exited(process.pid)
    except (FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
        return None
    return process if alive else None


def _has_exited(pid: int) -> bool:
    """Return whether a process that its parent has not reaped has ended, with all its threads and files."""
    process = psutil.Process(pid)
    return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1


def _mark_of(process: psutil.Process) -> str:
    # psutil's start time changes when the system's clock is set, as when a virtual machine is resumed.
    if not psutil.LINUX:
        return f"{process.pid}:{process.create_time():.2f}"
    stat = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace")
    ticks_after_boot = stat.rpartition(")")[2].split()[19]
    return f"{process.pid}:{ticks_after_boot}"
