"""What runs key coordinators: the engine of this process, and those that other packages bring."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller_client.clock import Clock
from controller_client.common.parallel import load_engine
from controller_client.coordinator.plan import TablePlan
from controller_client.coordinator.report import VersionReport
from controller_client.zookeeper import PropertyStore, TableLock

__all__ = ["ENTRY_POINT_GROUP", "CoordinatorRun", "RunOnEngine", "engine_of"]

ENTRY_POINT_GROUP = "pinot_plugins.coordinator_engines"
"""Entry points of engines: ``name = "module:function"``, a :data:`RunOnEngine`."""


@dataclass(frozen=True)
class CoordinatorRun:
    """What an engine is to run.

    Attributes:
        store: The cluster's ZooKeeper.
        plan: The table.
        lock: The table's; held, unless ``standby``.
        clock: Time.
        checkpoint: Where the states of generations are: a folder, or what else the engine can reach.
        interval_s: At least so long from the start of one version to that of the next; None: as usual with
            the engine.
        most_rows: Of one version, at most; None: as usual with the engine.
        replication: Of a new updates topic.
        once: End when all that is there is done.
        allow_data_loss: Whether to go on where Kafka has deleted rows before they were read.
        standby: Whether to follow another coordinator first, until the lock is free.
        settings: Of the engine, by name.
        on_version: Called after each version, in any thread.
        note: Called with lines for people.
        ready: Called once when it works; what it returns is set when it is to stop.
        on_look: Called about once a second while it leads or follows, in any thread, with the rows of the
            input that are in no version; None: not known, as for one that follows.
        on_failure: Called with what went wrong before it begins again, in any thread.
    """

    store: PropertyStore
    plan: TablePlan
    lock: TableLock
    clock: Clock
    checkpoint: str
    interval_s: float | None
    most_rows: int | None
    replication: int
    on_version: Callable[[VersionReport], None]
    note: Callable[[str], None]
    ready: Callable[[], threading.Event]
    once: bool = False
    allow_data_loss: bool = False
    standby: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    on_look: Callable[[int | None], None] = lambda _lag: None
    on_failure: Callable[[str], None] = lambda _reason: None


RunOnEngine = Callable[[CoordinatorRun], None]
"""Runs a coordinator until it is to stop; raises what ``LocalCoordinator.run`` raises."""


def engine_of(name: str) -> RunOnEngine:
    """Return an engine.

    Raises:
        SetupError: It is not installed, or what it needs is not.
    """
    found: RunOnEngine = load_engine(ENTRY_POINT_GROUP, name)
    return found
