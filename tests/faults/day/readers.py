"""A client that polls one table after another for states that must not be visible."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from controller_client.broker.client import BrokerClient
from controller_client.errors import PinotPluginError
from tests.faults.day.tables import FileTable
from tests.support.reader_polls import TALLY

__all__ = ["Readers"]

_PAUSE_S = 0.25


class Readers:
    """The client, in a separate thread; a context manager.

    Args:
        tables: The tables that it polls.
        broker: Used by this thread only.

    Attributes:
        polls: The number of answers.
        torn: Table name and answer where it was an incomplete table or older than an earlier answer.
        errors: Why queries failed; none should, since the servers of these tables run all day.
    """

    def __init__(self, tables: Sequence[FileTable], broker: BrokerClient) -> None:
        self._tables = tables
        self._broker = broker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="readers")
        self._seen: list[list[tuple[Any, ...]]] = [[] for _ in tables]
        self.polls = 0
        self.torn: list[tuple[str, tuple[Any, ...]]] = []
        self.errors: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        TALLY.polls += self.polls
        TALLY.readers += 1
        TALLY.torn += len(self.torn)

    def _serve(self) -> None:
        turn = 0
        while not self._stop.wait(_PAUSE_S):
            self._poll(turn % len(self._tables))
            turn += 1

    def _poll(self, number: int) -> None:
        table, seen = self._tables[number], self._seen[number]
        try:
            rows = self._broker.query(f"select count(*), sum(id) from {table.table.name}").rows
        except PinotPluginError as error:
            self.errors.append(f"{table.table.name}: {error}")
            return
        self.polls += 1
        answer = tuple(rows[0]) if rows else ()
        is_newer = answer not in seen[:-1]
        if answer not in table.whole or not is_newer:
            self.torn.append((table.table.name, answer))
        if seen[-1:] != [answer]:
            seen.append(answer)
