"""The engines that run key coordinators: the one in this process, and those of other packages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller_client.clock import Clock
from controller_client.common.parallel import load_engine
from controller_client.zookeeper import PropertyStore, TableLock
from key_coordinator.plan import KeyedTable
from key_coordinator.report import VersionReport

__all__ = ["ENTRY_POINT_GROUP", "CoordinatorRun", "RunOnEngine", "engine_of"]

ENTRY_POINT_GROUP = "pinot_plugins.coordinator_engines"
"""Entry points of engines: ``name = "module:function"``; the function is a :data:`RunOnEngine`."""


@dataclass(frozen=True)
class CoordinatorRun:
    """A coordinator for an engine to run.

    Attributes:
        store: The cluster's ZooKeeper.
        plan: The table.
        lock: The table's lock; already acquired unless ``standby``.
        clock: Time.
        checkpoint: Where the states of generations are stored: a folder, or another place the engine can
            reach.
        interval_s: Shortest time between the starts of two versions; None: the engine's default.
        max_rows: Maximum number of rows per version; None: the engine's default.
        replication: Replication factor of a new updates topic; None: that of the input topic.
        once: Stop once all present input is processed.
        allow_data_loss: Whether to continue if Kafka has deleted rows before they were read.
        standby: Whether to follow another coordinator until the lock is free.
        settings: The engine's settings, by name.
        on_version: Called after each version, in any thread.
        note: Called with log lines.
        ready: Called once when the engine starts work; returns an event that is set to stop it.
        on_check: Called about once a second while it leads or follows, in any thread, with the number of
            input rows that are not in a version yet; None: unknown, e.g. on a standby.
        on_failure: Called with the reason of a failure before a retry, in any thread.
    """

    store: PropertyStore
    plan: KeyedTable
    lock: TableLock
    clock: Clock
    checkpoint: str
    interval_s: float | None
    max_rows: int | None
    replication: int | None
    on_version: Callable[[VersionReport], None]
    note: Callable[[str], None]
    ready: Callable[[], threading.Event]
    once: bool = False
    allow_data_loss: bool = False
    standby: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    on_check: Callable[[int | None], None] = lambda _lag: None
    on_failure: Callable[[str], None] = lambda _reason: None


RunOnEngine = Callable[[CoordinatorRun], None]
"""Runs a coordinator until it is stopped; raises what ``LocalCoordinator.run`` raises."""


def engine_of(name: str) -> RunOnEngine:
    """Return an engine.

    Raises:
        SetupError: The engine, or something it needs, is not installed.
    """
    found: RunOnEngine = load_engine(ENTRY_POINT_GROUP, name)
    return found
