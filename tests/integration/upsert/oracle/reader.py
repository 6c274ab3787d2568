"""Repeats a query continuously, and keeps the answers with the versions of the tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.broker.result import QueryStats
from controller_client.errors import PinotPluginError
from controller_client.upsert.queries import UpsertQueries
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster

_PAUSE_S = 0.05
_TTL_S = 0.05


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        versions: The versions at which it was answered, by table with type.
        numbers: Its only row; empty if there is none.
        at_s: When it came, in seconds since 1970.
        stats: The broker's statistics, which show what a wrong answer lacked.
    """

    versions: Mapping[str, int]
    numbers: tuple[int, ...]
    at_s: float
    stats: QueryStats


class Reader:
    """A thread that queries until it is stopped; getting no answer for a while is not an error.

    Args:
        pinot: The cluster.
        sql: The query; its answer is a row of numbers.
        options: Query options.
    """

    def __init__(self, pinot: PinotCluster, sql: str, **options: bool) -> None:
        self._pinot = pinot
        self._sql = sql
        self._options = options
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="oracle-reader", daemon=True)
        self.answers: list[Answer] = []
        self.refused: list[str] = []

    def start(self) -> None:
        """Start."""
        self._thread.start()

    def stop(self) -> None:
        """Stop."""
        self._stopping.set()
        self._thread.join()

    def newest(self) -> Answer | None:
        """The last answer."""
        return self.answers[-1] if self.answers else None

    def _run(self) -> None:
        with (
            self._pinot.broker() as broker,
            PropertyStore(self._pinot.zookeeper_address, self._pinot.cluster_name) as store,
            UpsertQueries(broker, store, mark_ttl_s=_TTL_S) as queries,
        ):
            while not self._stopping.wait(_PAUSE_S):
                try:
                    answer = queries.query(self._sql, options=self._options, timeout_s=10)
                except PinotPluginError as error:
                    self.refused.append(error.message)
                    continue
                numbers = tuple(int(number or 0) for row in answer.result.rows for number in row)
                self.answers.append(Answer(answer.versions, numbers, time.time(), answer.result.stats))
