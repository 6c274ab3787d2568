"""Starts, identifies and stops the processes of a local cluster, each in its own session.

A process belongs to a cluster only if its command line has the cluster's mark. So it is found even if its
launcher was killed before it could record the process, and a pid that the system has reused for another
process is never touched.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from controller_client.clock import Clock, SystemClock

__all__ = ["ProcessRecord", "find_processes", "log_end", "marks", "spawn", "stop", "uninterrupted"]

_CLUSTER_MARK, _ROLE_MARK = "pinotPlugins.cluster=", "pinotPlugins.role="
_EXEC_POLL_S = 0.001
_LOG_TAIL_LINES = 15
_STACK_FRAME = "\tat "


@dataclass(frozen=True)
class ProcessRecord:
    """The record of a process.

    Attributes:
        role: E.g. ``controller``.
        pid: Its process id.
        started_s: Its start time, seconds since the epoch, as reported by the system; release 0.1.0 compares
            it, although it changes when the system's clock is set.
    """

    role: str
    pid: int
    started_s: float

    def process(self, folder: Path) -> psutil.Process | None:
        """Return the running process, or None if it has ended or another process has its pid."""
        try:
            process = psutil.Process(self.pid)
            alive = process.status() != psutil.STATUS_ZOMBIE
            marked = _role_of(process.cmdline(), folder) == self.role
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        return process if alive and marked else None


def marks(folder: Path, role: str) -> tuple[str, str]:
    """Return the two marks for a role's command line (after ``-D`` for Java, after ``-X`` for Python)."""
    return f"{_CLUSTER_MARK}{folder}", f"{_ROLE_MARK}{role}"


def find_processes(folder: Path) -> dict[str, ProcessRecord]:
    """Return all running processes with the mark of the cluster in `folder`, by role."""
    records: dict[str, ProcessRecord] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            role = _role_of(process.cmdline(), folder)
            if role and process.status() != psutil.STATUS_ZOMBIE:
                records[role] = ProcessRecord(role, process.pid, process.create_time())
    return records


def spawn(
    role: str, command: Sequence[str], log: Path, env: Mapping[str, str], clock: Clock | None = None
) -> tuple[ProcessRecord, subprocess.Popen[bytes]]:
    """Start a role with its output in `log`, in its own session, so that a Ctrl-C here does not reach it."""
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=log.parent,
            start_new_session=True,
        )
    process, clock = psutil.Process(child.pid), clock or SystemClock()
    # During its exec the kernel briefly shows an empty command line, so the process would count as ended.
    while child.poll() is None and not process.cmdline():
        clock.sleep(_EXEC_POLL_S)
    return ProcessRecord(role, child.pid, process.create_time()), child


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM only after the block, in which a started process becomes one to be stopped.

    The process that is started has the usual handling: handlers do not outlive its exec.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals interrupt the main thread alone
        return
    arrived: list[int] = []
    handled = [each for each in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(each))]
    before = {each: signal.signal(each, lambda number, _frame: arrived.append(number)) for each in handled}
    try:
        yield
    finally:
        for handled_signal, handler in before.items():
            signal.signal(handled_signal, handler)
    for number in arrived:
        signal.raise_signal(number)


def stop(records: Iterable[ProcessRecord], folder: Path, timeout_s: float) -> list[str]:
    """Stop processes: SIGTERM to all of them, SIGKILL to those that are still running after the timeout.

    Returns:
        The roles that had to be killed.
    """
    running = {process: record.role for record in records if (process := record.process(folder))}
    for process in running:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(list(running), timeout=timeout_s)
    for process in stubborn:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=timeout_s)
    return [running[process] for process in stubborn]


def log_end(log: Path) -> str:
    """Return the last lines of a log, indented, without Java's stack frames, which would hide the error."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    useful = [line for line in lines if not line.startswith(_STACK_FRAME)]
    return "".join(f"\n    {line}" for line in useful[-_LOG_TAIL_LINES:])


def _role_of(command_line: Sequence[str], folder: Path) -> str | None:
    words = [word.removeprefix("-D") for word in command_line]
    if f"{_CLUSTER_MARK}{folder}" not in words:
        return None
    return next((word.removeprefix(_ROLE_MARK) for word in words if word.startswith(_ROLE_MARK)), None)
