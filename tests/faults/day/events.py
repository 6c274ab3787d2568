"""The events of the day besides schedules and rows, from all of which everything recovers unattended."""

from __future__ import annotations

from controller_client.consumption import pause, resume
from controller_client.consumption.partitions import pause_partitions, resume_partitions
from tests.faults.day.clock import HOUR_S
from tests.faults.day.day import REAL, Day
from tests.faults.day.roles import MINIONS, SCHEDULERS, SERVERS, WATCHES
from tests.faults.takeover.place import standing
from tests.integration.server_hooks.conftest import TopicTable

__all__ = [
    "controller_killed",
    "paused",
    "paused_partition",
    "plugins_upgraded",
    "resumed",
    "resumed_partition",
    "store_away",
]

_OUTAGE_RATE = 60.0
"""An hour without the store takes a minute, in which each table is triggered once and a few twice."""

_EACH_NTH_TABLE = 3
"""Tables that get a file in it: their triggers, one second apart, are spread over the minute."""


def paused_partition(day: Day, table: TopicTable, partition: int) -> None:
    """Pause a partition, and wait until it is paused."""
    with day.clock.at_rate(REAL):
        pause_partitions(table.control(), [partition], reason="a rebuild downstream")


def resumed_partition(day: Day, table: TopicTable, partition: int) -> None:
    """Resume the partition."""
    with day.clock.at_rate(REAL):
        resume_partitions(table.control(), [partition])


def paused(day: Day, table: TopicTable) -> None:
    """Pause a whole table."""
    with day.clock.at_rate(REAL):
        pause(table.control(), reason="a rebuild downstream")


def resumed(day: Day, table: TopicTable) -> None:
    """Resume the table."""
    with day.clock.at_rate(REAL):
        resume(table.control())


def controller_killed(day: Day) -> None:
    """Kill the controller with -9, and start it again."""
    with day.clock.at_rate(REAL):
        day.pinot.kill("controller")
        day.pinot.start("controller")
        day.settle()


def store_away(day: Day) -> None:
    """Take the store away for an hour: first it denies all requests, then connections are refused.

    Files and rows are still added, and servers still commit.
    """
    began_h = day.clock.now_s / HOUR_S
    with day.clock.at_rate(_OUTAGE_RATE):
        refusal = day.store.answer(403, "*", "*")
        day.tables.put_files(day.tables.files[::_EACH_NTH_TABLE])
        day.tables.put_rows()
        day.until(began_h + 0.5)
        assert refusal.was_hit
        with day.store.dead():
            refusal.lift()
            day.tables.put_rows()
            day.until(began_h + 1)
            for stream in day.tables.streams:
                # Consumption does not wait for the store.
                stream.wait_seen(stream.produced)
    with day.clock.at_rate(REAL):
        day.settle()


def plugins_upgraded(day: Day, minutes: float) -> None:
    """Upgrade all processes in the order of docs/upgrades.md, with these minutes of the day in between."""
    pids = {process.pid: name for name, process in day.processes.items()}
    names = [*SERVERS, *MINIONS]
    for lease in ("scheduler", "deepstore-watch"):
        # The standby first.
        in_line = [pids[each.holder.pid] for each in standing(day.tables.store, lease) if each.holder]
        names += reversed(in_line)
    assert set(names) == {*SERVERS, *MINIONS, *SCHEDULERS, *WATCHES}, names
    for name in names:
        with day.clock.at_rate(REAL):
            process = day.processes[name]
            process.stop()
            process.start(day.later)
            process.wait_ready()
            if name in SERVERS:
                for stream in day.tables.streams:
                    stream.wait_served(replicas=2)
            day.settle()
        day.until(day.clock.now_s / HOUR_S + minutes / 60)
