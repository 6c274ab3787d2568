"""Applies a folder once, in a child process that is killed at a chosen write.

Arguments: controller URL, ZooKeeper address, cluster name, folder, number of the point at which it kills
itself (-1: none), seconds to wait for another apply. There is a point before and a point after each write,
which is a changing call or a record in ZooKeeper. Prints ``{"points": number, "done": steps}``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import controller_client.zookeeper.session as zookeeper_session
from controller_client.as_code import Applier, References, read_folder
from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.rest.transport import Transport
from controller_client.zookeeper import PropertyStore

_SHORT_SESSION_S = 4.0
"""ZooKeeper's minimum, so that the next apply does not wait long for the lock of a killed one."""


class _Points:
    def __init__(self, kill_at: int) -> None:
        self.passed = 0
        self._kill_at = kill_at

    def reach(self) -> None:
        if self.passed == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.passed += 1

    def around(self, call: Callable[..., Any], writes: Callable[..., bool]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            if not writes(*args, **named):
                return call(*args, **named)
            self.reach()
            result = call(*args, **named)
            self.reach()
            return result

        return counted


def _changes_something(_self: Transport, method: str, _path: str, **named: Any) -> bool:
    return method not in ("GET", "HEAD") and not named.get("read_only")


def main() -> None:
    controller, zookeeper, cluster, folder, kill_at, lock_wait_s = sys.argv[1:]
    points = _Points(int(kill_at))
    Transport.request = points.around(Transport.request, _changes_something)  # type: ignore[method-assign]
    PropertyStore.change = points.around(PropertyStore.change, lambda *_: True)  # type: ignore[method-assign]
    zookeeper_session.SESSION_TIMEOUT_S = _SHORT_SESSION_S
    with (
        ControllerClient(ControllerConfig(controller)) as client,
        PropertyStore(zookeeper, cluster) as store,
    ):
        read = read_folder(Path(folder))
        applier = Applier(client, store, read, References({}, Path(folder)), lock_wait_s=float(lock_wait_s))
        report = applier.apply(applier.plan().plan)
    sys.stdout.write(json.dumps({"points": points.passed, "done": report.done}) + "\n")


if __name__ == "__main__":
    main()
