"""The day as a whole: the cluster, the plugins' processes, the tables, the readers, and time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.monitoring.rules import rules_text
from tests.faults.day.alerts import Stretch, Window
from tests.faults.day.clock import HOUR_S, DayClock
from tests.faults.day.installation import Installation, later_release, this_release
from tests.faults.day.processes import DayProcess
from tests.faults.day.readers import Readers
from tests.faults.day.roles import MINIONS, SERVICES, WATCHES, roles
from tests.faults.day.scraper import Scraper
from tests.faults.day.settled import LOOKED_AT, unsettled
from tests.faults.day.tables import Tables
from tests.support.cluster import PinotCluster
from tests.support.faulty_s3 import FaultyS3
from tests.support.local_ports import fixed_ports
from tests.support.program import Program
from tests.support.session import Session
from tests.support.wait import WaitError, add_describer, remove_describer, wait_for

__all__ = ["CLIENTS", "IN_RULES", "REAL", "Day", "begun_day"]

_RATE = 120.0
"""While nothing but time passes, an hour takes half a minute."""

REAL = 1.0
"""While work is done."""

CLIENTS = 500

IN_RULES = frozenset(re.findall(r"\bpinot_plugins_\w+", rules_text()))
"""The metrics in alerts."""

_FIRST_FILES_S = 900.0
_SETTLED_S = 600.0


@dataclass
class Day:
    """A day that has begun.

    Attributes:
        pinot: The cluster.
        store: The proxy in front of its deep store.
        clock: The clock of the day.
        tables: The tables and their data.
        processes: The plugins' processes by scraped instance.
        later: The release to which they are upgraded.
        scraper: Records their metrics.
        readers: Query the tables.
        windows: The parts of the day that are over.
    """

    pinot: PinotCluster
    store: FaultyS3
    clock: DayClock
    tables: Tables
    processes: dict[str, DayProcess]
    later: Installation
    scraper: Scraper
    readers: Readers
    clients: Program
    windows: list[Window] = field(default_factory=list)
    _fed_hours: int = 0

    def until(self, hour: float) -> None:
        """Wait until a time of the day, adding the data of each hour."""
        while self._fed_hours < int(hour):
            self._fed_hours += 1
            self.clock.wait_until(self._fed_hours * HOUR_S, self._check)
            self.tables.feed(self._fed_hours)
        self.clock.wait_until(hour * HOUR_S, self._check)

    def settle(self) -> None:
        """Wait until everything has recovered from a fault unattended.

        Raises:
            WaitError: It has not recovered; the error names what is missing.
        """
        since_s = time.time()

        def missing() -> list[str]:
            self._check()
            last = {instance: self.scraper.last(instance) for instance in self.processes}
            return unsettled(last, WATCHES, since_s)

        try:
            wait_for(lambda: not missing(), "everything to recover", _SETTLED_S)
        except WaitError as error:
            error.add_note("not settled: " + "; ".join(missing()))
            raise

    def ends(self, stretch: Stretch) -> None:
        """Record the end of a part of the day: alerts that fire from now on belong to the next one."""
        begin_s = self.windows[-1].end_s if self.windows else 0.0
        self.windows.append(Window(stretch, begin_s, self.clock.now_s))

    def _check(self) -> None:
        for process in self.processes.values():
            assert not (trouble := process.trouble()), trouble
        assert self.clients.process.poll() is None, self.clients.said()


@contextmanager
def begun_day(session: Session, folder: Path) -> Iterator[Day]:
    """Start everything; the day begins once each table has its first rows.

    Args:
        session: Starts the cluster, with a faulty store.
        folder: For local files.
    """
    with ExitStack() as at_end:
        pinot, kafka = session.pinot, session.kafka
        pinot.kill("minion")  # it has no metrics; the minions of the day replace it
        processes = _start(session, pinot, folder, at_end)
        tables = at_end.enter_context(Tables(pinot, kafka, folder / "sources"))
        tables.make()
        tables.put_rows()
        tables.wait_whole(_FIRST_FILES_S)
        words = (pinot.zookeeper_address, pinot.cluster_name, str(CLIENTS), *tables.names)
        clients = Program("tests.faults.day.clients_program", *words, log=folder / "clients.log")
        at_end.callback(clients.close)
        broker = at_end.enter_context(pinot.broker())
        readers = at_end.enter_context(Readers(tables.files, broker))
        (folder / "later").mkdir()
        later = later_release(folder / "later")
        urls = {name: f"{process.url}/metrics" for name, process in processes.items()}
        clock = DayClock(REAL)
        scraper = at_end.enter_context(Scraper(urls, IN_RULES | LOOKED_AT))
        day = Day(pinot, session.store, clock, tables, processes, later, scraper, readers, clients)
        day.settle()
        with clock.at_rate(_RATE):
            yield day


def _start(session: Session, pinot: PinotCluster, folder: Path, at_end: ExitStack) -> dict[str, DayProcess]:
    """Start the plugins' processes, from this release."""
    ports = fixed_ports(len(SERVICES) + len(MINIONS))
    metrics = dict(zip(SERVICES, ports, strict=False))
    own = dict(zip(MINIONS, ports[len(SERVICES) :], strict=True))
    (folder / "processes").mkdir()
    processes = {}
    for role in roles(pinot, session.s3_environment(), metrics, own):
        process = DayProcess(role, folder / "processes", metrics[role.name])
        at_end.callback(process.close)
        process.start(this_release())
        processes[role.name] = process

    def describe() -> str:
        return "\n".join(f"--- {name}, end of its log:\n{each.log}" for name, each in processes.items())

    add_describer(describe)
    at_end.callback(remove_describer, describe)
    for process in processes.values():
        process.wait_ready()
    return processes
