"""A store in memory that can hang or fail, and a pool without threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

LONG_S = 60.0


class FakeStore:
    """Stores files in memory, or hangs or fails as the test requires."""

    def __init__(self) -> None:
        self.taken: dict[str, bytes] = {}
        self.open = threading.Event()
        self.open.set()
        self.error: OSError | None = None
        self.calls: list[str] = []

    def put(self, file: Path, uri: str) -> None:
        self._begin("put")
        self.taken[uri] = file.read_bytes()

    def fetch(self, uri: str, file: Path) -> None:
        self._begin("fetch")
        if uri not in self.taken:
            raise OSError("no such object")
        file.write_bytes(self.taken[uri])

    def copy(self, source: str, target: str) -> None:
        self._begin("copy")
        if source not in self.taken:
            raise OSError("no such object")
        self.taken[target] = self.taken[source]

    def move(self, source: str, target: str) -> bool:
        self._begin("move")
        if target in self.taken:
            return False
        if source not in self.taken:
            raise OSError("no such object")
        self.taken[target] = self.taken.pop(source)
        return True

    def delete(self, uri: str) -> None:
        self._begin("delete")
        del self.taken[uri]

    def _begin(self, call: str) -> None:
        self.calls.append(call)
        assert self.open.wait(LONG_S)
        if self.error:
            raise self.error


class InlineExecutor(Executor):
    """Runs everything immediately, in the caller's thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*args, **kwargs))
        return done
