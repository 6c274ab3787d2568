"""The backend for machines without a container engine: one process per service."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections import deque
from pathlib import Path

import psutil

from jvm_bridge.jdk import find_java
from tests.support.jars import jars_of, start_files
from tests.support.pinotctl import pinotctl
from tests.support.s3_program import s3_program
from tests.support.service import HOME, Program, RunningService, Service

_SCRIPTS = {
    Program.PINOT: Path(__file__).parent.parent / "images" / "pinot" / "pinot-admin.sh",
    Program.KAFKA: Path(__file__).parent.parent / "images" / "kafka" / "kafka.sh",
}
_HOME_VARIABLES = {Program.PINOT: "PINOT_HOME", Program.KAFKA: "KAFKA_HOME"}
_END_TIMEOUT_S = 10


class ProcessBackend:
    """Starts services as child processes.

    Args:
        folder: Folder of the session; each service gets a subfolder.
        record: File that lists the running processes, see :func:`end_recorded`.
    """

    name = "processes"

    def __init__(self, folder: Path, record: Path) -> None:
        self._folder = folder
        self._record = record
        self._launched: list[_RunningProcess] = []

    def launch(self, service: Service) -> RunningService:
        home = self._folder / service.name
        home.mkdir()
        for name, text in service.files.items():
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).write_text(text.replace(HOME, str(home)), encoding="utf-8")
        arguments = [argument.replace(HOME, str(home)) for argument in service.arguments]
        command, environment = host_command(service.program, self._folder)
        environment.update(
            {name: value.replace(HOME, str(home)) for name, value in service.environment.items()}
        )
        running = _RunningProcess(service, home, [*command, *arguments], environment, self._record)
        self._launched.append(running)
        running.start()
        return running

    def close(self) -> None:
        for running in reversed(self._launched):
            running.remove()
        self._record.unlink(missing_ok=True)


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
    home = folder / f"{program}-home"
    etc = home / "etc"
    if not etc.exists():
        etc.mkdir(parents=True)
        for name, text in start_files(jars_of(program).class_path).items():
            (etc / name).write_text(text, encoding="utf-8")
    environment[_HOME_VARIABLES[program]] = str(home)
    environment["JAVA_HOME"] = str(find_java().home)
    return ["/bin/sh", str(_SCRIPTS[program])], environment


class _RunningProcess:
    def __init__(
        self, service: Service, home: Path, command: list[str], environment: dict[str, str], record: Path
    ) -> None:
        self.service = service
        self._home = home
        self._command = command
        self._environment = environment
        self._record = record
        self._output = home / "output.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._paused = False

    def state(self) -> str:
        if self._process is None or self._process.poll() is not None:
            return f"ended with {self._process.returncode if self._process else None}"
        return "paused" if self._paused else "running"

    def start(self) -> None:
        if self._process is not None and self._paused:
            self._process.send_signal(signal.SIGCONT)
            self._paused = False
            return
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._home,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for pytest, which then stops them in order
            )
        with self._record.open("a", encoding="utf-8") as record:
            record.write(f"{self._process.pid}:{psutil.Process(self._process.pid).create_time():.2f}\n")

    def pause(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            self._paused = True

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(_END_TIMEOUT_S)
            self._paused = False

    def logs(self, lines: int) -> str:
        with self._output.open(encoding="utf-8", errors="replace") as output:
            return "".join(deque(output, maxlen=lines))

    def put_file(self, path: str, content: bytes) -> None:
        (self._home / path).write_bytes(content)

    def remove(self) -> None:
        self.kill()


def end_recorded(record: Path) -> None:
    """End the processes listed in a record, and delete the record."""
    if not record.exists():
        return
    for line in record.read_text(encoding="utf-8").split():
        pid, _, started = line.partition(":")
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(int(pid))
            if f"{process.create_time():.2f}" == started:
                process.kill()
                process.wait(_END_TIMEOUT_S)
    record.unlink()
