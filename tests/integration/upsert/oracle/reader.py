"""Asks for ``count(*)`` and ``sum(value)`` all the time, and keeps what it was answered, at which version."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from controller_client.errors import PinotPluginError
from controller_client.upsert.queries import UpsertQueries
from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.oracle.history import Total
from tests.support.cluster import PinotCluster

_PAUSE_S = 0.05
_TTL_S = 0.05


@dataclass(frozen=True)
class Answer:
    """One answer, at the version that it was asked at."""

    version: int
    total: Total


class Reader:
    """A thread that asks until it is stopped; that it gets no answer for a while is no fault.

    Args:
        pinot: The cluster.
        table: Name without type.
    """

    def __init__(self, pinot: PinotCluster, table: str) -> None:
        self._pinot = pinot
        self._table = table
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="oracle-reader", daemon=True)
        self.answers: list[Answer] = []
        self.refused: list[str] = []

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
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
                    answer = queries.query(f"select count(*), sum(value) from {self._table}", timeout_s=10)
                except PinotPluginError as error:
                    self.refused.append(error.message)
                    continue
                (version,) = answer.versions.values()
                rows = answer.result.rows
                count, total = rows[0] if rows else (0, 0)
                self.answers.append(Answer(version, Total(int(count), int(total))))
