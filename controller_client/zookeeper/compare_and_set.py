"""Changes records by compare-and-set: the one loop used throughout this project.

A change is a function of the current record. It is applied only to the version it was computed from; after
another writer's change it is recomputed, a bounded number of times, with increasing pauses. If a reply was
lost, the current record settles whether the write was applied, before anything is written again.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.retry import RetryPolicy, TransientFailureError, call_with_retry
from controller_client.errors import (
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
)
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.record import Versioned, ZNRecord
from controller_client.zookeeper.transaction import CheckVersion, CreateNode, SetContent, Write

__all__ = ["COMPARE_AND_SET", "Alongside", "Change", "Changed", "change_record"]

COMPARE_AND_SET = RetryPolicy(attempts=60, deadline_s=30.0, first_wait_s=0.01, max_wait_s=1.0)
"""Like Helix: even a record with many concurrent writers is changed within seconds."""

Change = Callable[[ZNRecord | None], ZNRecord | None]
"""Computes the wanted record from the current one; None stands for no record.

Called in the caller's thread, once per attempt. Given its own result, it must return it unchanged: this is
how a write whose reply was lost is recognized.
"""

Alongside = Callable[[ZNRecord], Sequence[Write]]
"""Returns the writes to other znodes that belong to the wanted record; empty if they are up to date.

Called in the caller's thread, once per attempt; may read. The record and these writes are applied atomically.
"""


@dataclass(frozen=True)
class Changed:
    """The result of a change.

    Attributes:
        found: The current record; None: no record.
        was_needed: False if the record was already as wanted.
    """

    found: Versioned | None
    was_needed: bool

    @property
    def current(self) -> Versioned:
        """The current record, for a change that never deletes it.

        Raises:
            LookupError: There is no record.
        """
        if self.found is None:
            raise LookupError("the change left no record")
        return self.found


def change_record(
    connection: ZooKeeperConnection,
    path: str,
    change: Change,
    *,
    clock: Clock,
    rng: random.Random,
    policy: RetryPolicy = COMPARE_AND_SET,
    alongside: Alongside | None = None,
) -> Changed:
    """Change the record at a path by compare-and-set.

    Args:
        connection: Connection to ZooKeeper.
        path: Absolute path of the znode; created with its parents if missing.
        change: See :data:`Change`; an error of it ends the loop, and nothing is written.
        clock: Time and sleep between attempts.
        rng: Random source for the pauses' jitter.
        policy: Number of attempts and pauses.
        alongside: See :data:`Alongside`; only for a change that leaves a record.

    Raises:
        ConflictError: Others changed it during each attempt; nothing was applied.
        DataError: The znode does not contain a record.
        UnreachableError: ZooKeeper does not answer; nothing was applied.
        OutcomeUnknownError: A reply was lost, and what came after it does not show whether the write was
            applied: ZooKeeper cannot be reached, others changed the record each time, or the change refuses
            the record as it is now.
    """
    return call_with_retry(
        _Attempts(connection, path, change, alongside),
        policy=policy,
        clock=clock,
        rng=rng,
        what=f"the change of {path}",
        log_level=logging.DEBUG,
    )


class _Attempts:
    def __init__(
        self, connection: ZooKeeperConnection, path: str, change: Change, alongside: Alongside | None
    ) -> None:
        self._connection = connection
        self._path = path
        self._change = change
        self._alongside = alongside
        self._unknown: OutcomeUnknownError | None = None

    def __call__(self) -> Changed:
        try:
            return self._attempt()
        except PinotPluginError as error:
            # After a lost reply, no later failure may claim that nothing was applied.
            if self._unknown is not None:
                raise self._unknown from error
            raise

    def _attempt(self) -> Changed:
        znode = self._connection.get(self._path)
        version = znode[1] if znode else None
        present = ZNRecord.from_bytes(znode[0], where=self._path) if znode and znode[0] else None
        record = self._change(present)
        others = self._alongside(record) if self._alongside and record is not None else ()
        if record == present and not others:
            return Changed(_versioned(present, version), was_needed=self._unknown is not None)
        try:
            if record is not None and others:
                version = self._write_together(record, version, others, is_new=record != present)
            else:
                version = self._write(record, version)
            return Changed(_versioned(record, version), was_needed=True)
        except (ConflictError, NotFoundError) as error:
            last = self._unknown or self._kept_changing()
            raise TransientFailureError(last, "another client changed it") from error
        except OutcomeUnknownError as error:
            self._unknown = error
            raise TransientFailureError(error, "the reply was lost") from error

    def _write(self, record: ZNRecord | None, version: int | None) -> int | None:
        if record is None:
            self._connection.delete(self._path, expected_version=version)
            return None
        if version is None:
            self._connection.create(self._path, record.to_bytes())
            return 0
        return self._connection.set(self._path, record.to_bytes(), version)

    def _write_together(
        self, record: ZNRecord, version: int | None, others: Sequence[Write], *, is_new: bool
    ) -> int:
        if version is None:
            folder = self._path.rpartition("/")[0]
            if not self._connection.exists(folder):
                with suppress(ConflictError):  # another client created it first
                    self._connection.create(folder, b"")
            self._connection.commit([CreateNode(self._path, record.to_bytes()), *others])
            return 0
        if is_new:
            self._connection.commit([SetContent(self._path, record.to_bytes(), version), *others])
            return version + 1
        self._connection.commit([CheckVersion(self._path, version), *others])
        return version

    def _kept_changing(self) -> ConflictError:
        return ConflictError(
            "other clients kept changing the record during each attempt to write it",
            where=f"{self._path} in ZooKeeper {self._connection.address}",
            remedy="find out what keeps writing it, then try again",
        )


def _versioned(record: ZNRecord | None, version: int | None) -> Versioned | None:
    return None if record is None or version is None else Versioned(record, version)
