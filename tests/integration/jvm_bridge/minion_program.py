"""Hosts a minion with small executors until SIGTERM; run as a child process.

Each executor leaves traces in the folder given by the task's config ``folder``: tests see what ran, where and
how.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

from controller_client.config import ControllerConfig
from jvm_bridge.minion import MinionContext, MinionSettings, MinionTask, host_minion
from jvm_bridge.shutdown import exit_process


class Writes:
    """Writes its configuration into a file."""

    def __init__(self, context: MinionContext) -> None:
        self._context = context

    def execute(self, task: MinionTask) -> None:
        found = sorted(f"{key}={value}" for key, value in task.configs.items())
        lines = [task.task_type, self._context.instance_id, str(self._context.work_dir.is_dir()), *found]
        target = Path(task.configs["folder"]) / task.configs["name"]
        target.with_suffix(".part").write_text("\n".join(lines))
        target.with_suffix(".part").replace(target)

    def cancel(self) -> None:
        pass


class Fails:
    """Fails with a message that is not ASCII."""

    def __init__(self, context: MinionContext) -> None:
        pass

    def execute(self, task: MinionTask) -> None:
        raise ValueError(f"row 7 of {task.configs['name']} is wrong: größer als 3")

    def cancel(self) -> None:
        pass


class Waits:
    """Runs until it is cancelled or the file ``go`` appears; records how many ran at the same time."""

    running = 0
    lock = threading.Lock()

    def __init__(self, context: MinionContext) -> None:
        self._cancelled = threading.Event()

    def execute(self, task: MinionTask) -> None:
        folder = Path(task.configs["folder"])
        with Waits.lock:
            Waits.running += 1
            (folder / f"{task.configs['name']}.running").write_text(str(Waits.running))
        try:
            while not self._cancelled.is_set() and not (folder / "go").exists():
                time.sleep(0.05)
        finally:
            with Waits.lock:
                Waits.running -= 1
        if self._cancelled.is_set():
            (folder / f"{task.configs['name']}.cancelled").touch()

    def cancel(self) -> None:
        self._cancelled.set()


def refuses(_context: MinionContext) -> Writes:
    raise RuntimeError("no executor today")


def main() -> None:
    controller_url, zookeeper_address, cluster_name, port, folder, tag, concurrency = sys.argv[1:]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = MinionSettings(
        controller=ControllerConfig(controller_url),
        zookeeper_address=zookeeper_address,
        cluster_name=cluster_name,
        host="127.0.0.1",
        port=int(port),
        folder=Path(folder),
        tag=tag,
        concurrency=int(concurrency),
        max_heap_mb=128,
        system_properties={"zk.session.timeout": "6000"},
        executors={"TestWrites": Writes, "TestFails": Fails, "TestWaits": Waits, "TestRefuses": refuses},
    )
    host_minion(settings, stop)
    exit_process(0)  # as `serve minion` does: threads of ZooKeeper's and Helix' stay


if __name__ == "__main__":
    main()
