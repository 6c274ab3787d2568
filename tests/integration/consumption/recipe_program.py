"""Run a recipe as a child process that kills itself at one of its steps.

A step is a write to ZooKeeper or a controller request that changes something. Its name is what it does, with
a number if that is repeated. Argument: JSON with ``controller``, ``zookeeper``, ``cluster``, ``table``,
``recipe``, ``change`` (keys of the stream config), and ``kill`` (null, or ``[before or after, step]``).
Prints the finished steps as JSON.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.consumption import ConsumeFrom, TableControl
from controller_client.consumption.recipes.change_stream import change_stream
from controller_client.consumption.recipes.draining import drain
from controller_client.consumption.recipes.recovering import recover, recreate, reset
from controller_client.zookeeper import PropertyStore, ZooKeeperConnection
from tests.integration.consumption.stream_table import quietly


class Steps:
    """The finished steps, and the one at which the process kills itself."""

    def __init__(self, kill: list[str] | None) -> None:
        self._kill = kill
        self._came: Counter[str] = Counter()
        self.done: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self._came[name] += 1
        numbered = name if self._came[name] == 1 else f"{name} {self._came[name]}"
        self._end_at("before", numbered)
        yield
        self.done.append(numbered)
        self._end_at("after", numbered)

    def _end_at(self, when: str, step: str) -> None:
        if self._kill == [when, step]:
            os.kill(os.getpid(), signal.SIGKILL)


class SteppedSession(requests.Session):
    """HTTP session that counts requests that change something as steps."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def request(self, method: str | bytes, url: str | bytes, *rest: Any, **more: Any) -> requests.Response:
        if method == "GET":
            return super().request(method, url, *rest, **more)
        parts = urlsplit(str(url)).path.strip("/").split("/")
        with self._steps.step(f"{method!s} {parts[0] if method == 'PUT' else parts[-1]}"):
            return super().request(method, url, *rest, **more)


class SteppedZooKeeper(ZooKeeperConnection):
    """ZooKeeper connection that counts writes as steps."""

    def __init__(self, address: str, steps: Steps) -> None:
        super().__init__(address)
        self._steps = steps

    def create(self, path: str, data: bytes) -> None:
        with self._steps.step(f"create {_last(path)}"):
            super().create(path, data)

    def set(self, path: str, data: bytes, expected_version: int) -> int:
        with self._steps.step(f"set {_last(path)}"):
            return super().set(path, data, expected_version)

    def delete(self, path: str, *, recursive: bool = False, expected_version: int | None = None) -> None:
        with self._steps.step(f"delete {_last(path)}"):
            super().delete(path, recursive=recursive, expected_version=expected_version)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def run(order: dict[str, Any], control: TableControl) -> None:
    """Run the recipe of the argument."""
    change = functools.partial(change_stream, control, order["change"], consume_from=ConsumeFrom.SMALLEST)
    recipes: dict[str, Callable[..., object]] = {
        "change-stream": change,
        "drain": functools.partial(drain, control, until=None),
        "recover": functools.partial(recover, control),
        "recreate": functools.partial(recreate, control),
        "reset": functools.partial(reset, control),
    }
    recipes[order["recipe"]](**quietly(120.0))


def main() -> None:
    order = json.loads(sys.argv[1])
    steps = Steps(order["kill"])
    with (
        SteppedSession(steps) as session,
        ControllerClient(ControllerConfig(order["controller"]), session=session) as client,
    ):
        store = PropertyStore(order["zookeeper"], order["cluster"])
        store.connection = SteppedZooKeeper(order["zookeeper"], steps)
        with store:
            run(order, TableControl(client, store, order["table"]))
    json.dump(steps.done, sys.stdout)


if __name__ == "__main__":
    main()
