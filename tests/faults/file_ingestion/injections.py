"""Injects faults into runs of the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pytest

from controller_client.errors import UnsafeDeleteError
from controller_client.publishing.doctor import LineageFinding
from controller_client.publishing.examine_lineage import examine_lineage
from controller_client.rest.delete_risks import DeleteRisk
from minion_tasks.file_ingestion.run.publish import Publication
from tests.faults.file_ingestion.place import Place
from tests.faults.file_ingestion.runs import Halt, Ran, Runners
from tests.integration.file_ingestion.ingestion import Reader
from tests.support.expiry import expire_children, expire_owner
from tests.support.faulty_http import FaultyHttp, Rule

SWITCH = Halt("after", "session SWITCH")
_GONE_S = 120.0


class Injection(Protocol):
    """A run with a fault."""

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        """Run the task once, with the fault."""
        ...


@dataclass(frozen=True)
class Killed:
    """kill -9 of the run at a step; if there are more steps, the next runs are killed too."""

    halts: tuple[Halt, ...]

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        for halt in self.halts:
            ran = runners.victim().run(place.name, halt)
            assert ran.was_killed, f"the run was not killed {halt}, since it did: {ran.steps}"
            runners.prepare()
            # As if the session had timed out, after which the dead run's lock is free.
            expire_children(place.pinot.zookeeper_address, place.lock_path)
        return ran


AddRule = Callable[[FaultyHttp, str, str, "int | None"], Rule]

HTTP_FAULTS: dict[str, AddRule] = {
    "reply lost": lambda proxy, operation, key, times: proxy.drop_reply(operation, key, times=times),
    "connection dropped": lambda proxy, operation, key, times: proxy.drop_request(
        operation, key, times=times
    ),
    "500": lambda proxy, operation, key, times: proxy.answer(500, operation, key, times=times),
    "503": lambda proxy, operation, key, times: proxy.answer(503, operation, key, times=times),
    "body cut": lambda proxy, operation, key, times: proxy.cut(20, operation, key, times=times),
    "slow": lambda proxy, operation, key, times: proxy.hold_reply(operation, key, times=times),
}


@dataclass(frozen=True)
class Http:
    """A fault of an HTTP call.

    Attributes:
        server: ``controller`` or ``s3``.
        key: May contain ``{raw}``, ``{name}``, ``{source}``, ``{staging}``, which are replaced for the table.
        times: How often; None: until the end of the run.
        since: Where the run is paused to inject the fault; None: the fault is present from the start.
    """

    server: str
    fault: str
    operation: str
    key: str
    times: int | None = 1
    since: Halt | None = None

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        proxy = place.controller if self.server == "controller" else place.s3
        key = self.key.format(
            raw=place.table.name,
            name=place.name,
            source=place.prefix,
            staging=place.staging,
            bucket=place.bucket,
            staging_bucket=place.staging.partition("/")[0],
        )
        runner = runners.lasting()
        runner.start(place.name, self.since)
        if self.since is not None:
            runner.wait_paused()
        rule = HTTP_FAULTS[self.fault](proxy, self.operation, key, self.times)
        try:
            if self.since is not None:
                runner.resume()
            if self.fault == "slow":
                rule.wait_hit()
                reader.poll_until(reader.polls + 20)
                rule.lift()
            ran = runner.ended()
        finally:
            proxy.lift_all()
        assert rule.hits, f"there was no {self.operation} of {key}: {ran}"
        return ran


@dataclass(frozen=True)
class KilledRole:
    """kill -9 of a role while the run is paused at a step; the role is restarted later.

    Attributes:
        back: When the role is restarted: ``after the end`` of the run, or while the run is in progress.
    """

    role: str
    halt: Halt
    back: str = "after the end"

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        runner = runners.lasting()
        runner.start(place.name, self.halt)
        runner.wait_paused()
        place.pinot.kill(self.role)
        try:
            runner.resume()
            ran = runner.ended() if self.back == "after the end" else None
        finally:
            place.pinot.start(self.role)
        return ran or runner.ended()


@dataclass(frozen=True)
class ControllerKilledAtCall:
    """kill -9 of the controller when it has applied a call, the reply to which is lost."""

    operation: str
    key: str

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        runner = runners.lasting()
        runner.start(place.name, SWITCH)
        runner.wait_paused()
        rule = place.controller.drop_reply(self.operation, self.key.format(raw=place.table.name))
        runner.resume()
        rule.wait_hit()
        place.pinot.kill("controller")
        try:
            ran = runner.ended()
        finally:
            place.controller.lift_all()
            place.pinot.start("controller")
        return ran


@dataclass(frozen=True)
class MinionInSubtask:
    """The minion is killed, or its ZooKeeper session ends, while it reads a source file."""

    how: str

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        rule = place.s3.hold("GET", f"{place.prefix}/*", times=1)
        runner = runners.lasting()
        runner.start(place.name)
        rule.wait_hit()
        if self.how == "killed":
            place.pinot.kill("minion")
            rule.lift()
            place.pinot.start("minion")
        else:
            path = f"/{place.pinot.cluster_name}/LIVEINSTANCES"
            expire_owner(place.pinot.zookeeper_address, f"{path}/{place.pinot.minion_instance}")
            rule.lift()
        return runner.ended()


@dataclass(frozen=True)
class SessionExpired:
    """The run's ZooKeeper session ends, which releases its lock, while the run is paused at a step.

    Attributes:
        other_run: Outcome of another run of the table, which ends before this one continues; None: no such
            run.
    """

    halt: Halt
    other_run: str | None = None

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        runner = runners.victim()
        runner.start(place.name, self.halt)
        runner.wait_paused()
        expire_children(place.pinot.zookeeper_address, place.lock_path)
        if self.other_run is not None:
            assert runners.lasting().run(place.name).well["outcome"] == self.other_run
        runner.resume()
        return runner.ended()


@dataclass(frozen=True)
class Late:
    """kill -9 of the run with a call in flight, which arrives during or after the next run.

    Attributes:
        arrives: The step of the next run at which the call arrives; None: after the end of that run.
    """

    operation: str
    key: str
    arrives: Halt | None = None

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        key = self.key.format(raw=place.table.name)
        rule = place.controller.hold(self.operation, key)
        victim, runner = runners.victim(), runners.lasting()
        victim.start(place.name)
        rule.wait_hit()
        victim.kill()
        runners.prepare()
        expire_children(place.pinot.zookeeper_address, place.lock_path)
        try:
            runner.start(place.name, self.arrives)
            if self.arrives is not None:
                runner.wait_paused()
                rule.lift()
                reader.poll_until(reader.polls + 20)
                runner.resume()
            return runner.ended()
        finally:
            place.controller.lift_all()


@dataclass(frozen=True)
class SegmentDeleted:
    """A segment of the switch is deleted by hand while the run is paused at a step.

    Attributes:
        is_new: Whether it is one of the new segments, or one of those to be replaced.
        risk: What the delete without a decision is refused for; None: whether it is depends on earlier
            replacements.
        finding: What the doctor finds afterwards; None: that depends on earlier replacements, too.
    """

    halt: Halt
    is_new: bool
    risk: DeleteRisk | None
    finding: LineageFinding | None

    def run(self, place: Place, runners: Runners, reader: Reader) -> Ran:
        client = place.table.client
        runner = runners.lasting()
        runner.start(place.name, self.halt)
        runner.wait_paused()
        session = place.sessions.latest()
        assert session
        replaced = place.sessions.read_from(session)
        name = Publication.of(place.sessions, session).names[0] if self.is_new else replaced[0]
        place.between.append(place.served_without(name))
        if self.risk is not None:
            with pytest.raises(UnsafeDeleteError, match=rf"DeleteRisk\.{self.risk}\]"):
                client.segments.delete(place.name, [name])
        client.segments.delete(place.name, [name], accept=set(DeleteRisk))
        client.segments.wait_gone(place.name, [name], _GONE_S)
        if self.finding is not None:
            assert self.finding in {each.finding for each in examine_lineage(client, place.name, 0)}
        runner.resume()
        return runner.ended()
