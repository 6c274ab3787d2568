"""The fault table: each row is a point of a run at which a fault is injected, and the expected result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from controller_client.publishing.doctor import LineageFinding
from controller_client.rest.delete_risks import DeleteRisk
from tests.faults.file_ingestion.injections import (
    SWITCH,
    ControllerKilledAtCall,
    Http,
    Injection,
    Killed,
    KilledRole,
    Late,
    MinionInSubtask,
    SegmentDeleted,
    SessionExpired,
)
from tests.faults.file_ingestion.runs import Halt

SWITCHED = "switched"
FINISHED = "switch_finished"
NOTHING_NEW = "nothing_new"

WELL = "well"
DEAD = "dead"
SOURCE, FILES = "SourceError", "FilesFailedError"
NOT_APPLIED, REJECTED, UNKNOWN = "NotAppliedError", "RejectedError", "OutcomeUnknownError"


@dataclass(frozen=True)
class Row:
    """One fault.

    Attributes:
        point: Where it is injected.
        run: How the run with the fault may end: WELL, DEAD, or types of errors.
        then: Outcomes that the next trigger may report; after a run that ended well, there is nothing new.
        same_session: Whether the next trigger continues the session of the run; None: either.
        retry_count: The retries of the session as the next trigger reports them.
        by_default: Whether it is tested without ``--full``.
        queries_may_fail: Whether queries may fail during the fault.
    """

    point: str
    mode: str
    retries: int
    injection: Injection
    run: tuple[str, ...]
    then: tuple[str, ...]
    same_session: bool | None = None
    retry_count: int | None = None
    by_default: bool = False
    queries_may_fail: bool = False
    configs: dict[str, str] = field(default_factory=dict)

    @property
    def disturbs(self) -> bool:
        """Whether it kills a role that other tests use."""
        return isinstance(self.injection, KilledRole | ControllerKilledAtCall | MinionInSubtask)

    @property
    def id(self) -> str:
        return f"{self.mode} with {self.retries} retries: {self.point}"


# The writes of a run in order, and what a run leaves when it is killed after each.
PLAN, STAGING, SWITCHING, DONE = "a plan", "staged segments", "a switch", "a table that is done"
WRITES = {
    "session INIT": PLAN,
    "group 0": PLAN,
    "group 1": PLAN,
    "session IN_PROGRESS": STAGING,
    "task name": STAGING,
    "from page 0": STAGING,
    "session SWITCH": SWITCHING,
    "entry id": SWITCHING,
    "session DONE": DONE,
    "session deleted": DONE,
}
RETRY_WRITES = {
    "retry count": STAGING,
    "session saved": STAGING,
    "task name": STAGING,
    "from page 0": STAGING,
    "session SWITCH": SWITCHING,
    "entry id": SWITCHING,
    "session DONE": DONE,
}
# The calls of a switch in order, except those that look up brokers, whose failure is harmless.
CALLS = (
    *("GET lineage", "GET segments", "POST startReplaceSegments", "GET appconfigs", "POST push"),
    *("GET idealstate", "GET externalview", "POST endReplaceSegments"),
)

_KILLS_BY_DEFAULT = {("append", 2, "after group 0"), ("append", 2, "after task name")}


def rows() -> list[Row]:
    """All rows."""
    return [
        *(*_kills(), *_kills_of_retries(), *_kills_at_calls(), *_calls(), *_roles(), *_s3()),
        *_deleted_segments(),
    ]


def _kills() -> Iterator[Row]:
    for mode in ("append", "sync", "swap"):
        for retries in (0, 2):
            left = None
            for write, then_left in WRITES.items():
                if write.startswith("from page") and mode == "append":
                    continue
                for when in ("before", "after"):
                    if when == "after":
                        left = then_left
                    halt = Halt(when, write)
                    yield Row(
                        f"the run is killed {halt}",
                        mode,
                        retries,
                        Killed((halt,)),
                        run=(DEAD,),
                        by_default=(mode, retries, str(halt)) in _KILLS_BY_DEFAULT,
                        **_after_kill(left, retries, 0),
                    )


def _kills_of_retries() -> Iterator[Row]:
    first = Halt("after", "session IN_PROGRESS")
    left = STAGING
    retries = 0
    for write, then_left in RETRY_WRITES.items():
        for when in ("before", "after"):
            if when == "after":
                left = then_left
                retries = 1
            halt = Halt(when, write)
            yield Row(
                f"the run is killed {first}, the retry {halt}",
                "sync",
                2,
                Killed((first, halt)),
                run=(DEAD,),
                **_after_kill(left, 2, retries),
            )
    yield Row(
        f"the run is killed {first}, the last retry after retry count",
        "swap",
        1,
        Killed((first, Halt("after", "retry count"))),
        run=(DEAD,),
        then=(SWITCHED,),
        same_session=False,
        retry_count=0,
    )


def _kills_at_calls() -> Iterator[Row]:
    for mode in ("append", "swap"):
        for call in CALLS:
            for when in ("before", "after"):
                for nth in (1, 2) if call == "POST push" else (1,):
                    halt = Halt(when, call, nth, since="session SWITCH")
                    yield Row(
                        f"the run is killed in the switch {halt}",
                        mode,
                        0,
                        Killed((halt,)),
                        run=(DEAD,),
                        by_default=mode == "swap" and str(halt) == "after POST push",
                        **_after_kill(SWITCHING, 0, 0),
                    )


def _after_kill(left: str | None, retries: int, retry_count: int) -> dict[str, Any]:
    if left == DONE:
        return {"then": (NOTHING_NEW,)}
    if left == SWITCHING:
        return {"then": (FINISHED,), "same_session": True, "retry_count": retry_count}
    if left == STAGING and retries > retry_count:
        return {"then": (SWITCHED,), "same_session": True, "retry_count": retry_count + 1}
    return {"then": (SWITCHED,), "same_session": False, "retry_count": 0}


KEYS = {
    "GET lineage": "segments/{raw}/lineage",
    "GET segments": "segments/{name}",
    "POST startReplaceSegments": "segments/{raw}/startReplaceSegments",
    "GET appconfigs": "appconfigs",
    "POST push": "v2/segments",
    "GET idealstate": "tables/{name}/idealstate",
    "GET externalview": "tables/{name}/externalview",
    "POST endReplaceSegments": "segments/{raw}/endReplaceSegments",
}
_CALL_FAULTS = ("reply lost", "connection dropped", "500", "503", "slow")


def _calls() -> Iterator[Row]:
    for call in CALLS:
        for fault in _CALL_FAULTS:
            for times in (1, None):
                if fault == "slow" and times is None:
                    continue
                method = call.partition(" ")[0]
                often = "once" if times else "each time"
                run = _run_with(fault, call, times)
                yield Row(
                    f"{fault}, {often}, of {call} in the switch",
                    "append" if times else "sync",
                    0,
                    Http("controller", fault, method, KEYS[call], times, SWITCH),
                    run=(run,),
                    then=(NOTHING_NEW if run == WELL else FINISHED,),
                    same_session=True,
                    by_default=times == 1 and (call, fault) == ("POST endReplaceSegments", "reply lost"),
                )


def _run_with(fault: str, call: str, times: int | None) -> str:
    """Return how a run ends with a fault in one of its controller calls."""
    if fault == "500":
        return REJECTED
    if call.startswith("GET"):
        return WELL if times or fault == "slow" else NOT_APPLIED
    settled = fault == "reply lost" and call != "POST push"
    return WELL if settled or fault == "slow" else UNKNOWN


def _roles() -> Iterator[Row]:
    for call in CALLS:
        halt = Halt("before", call, since="session SWITCH")
        yield Row(
            f"the controller is killed {halt} in the switch",
            "sync",
            0,
            KilledRole("controller", halt),
            run=(NOT_APPLIED if call.startswith("GET") else UNKNOWN,),
            then=(FINISHED,),
            same_session=True,
        )
    for call in ("POST startReplaceSegments", "POST push", "POST endReplaceSegments"):
        yield Row(
            f"the controller is killed after it has applied {call}",
            "swap",
            0,
            ControllerKilledAtCall("POST", KEYS[call]),
            # WELL if the controller was still up when the lineage was read; not applied if it was up for that
            # but not for the next check.
            run=(UNKNOWN, WELL, NOT_APPLIED),
            then=(FINISHED,),
            same_session=True,
            by_default=call == "POST startReplaceSegments",
        )
    for server in ("server_1", "server_2"):
        for call in ("POST push", "POST endReplaceSegments"):
            yield Row(
                f"{server} is killed before {call}",
                "swap",
                0,
                KilledRole(server, Halt("before", call, since="session SWITCH"), back="while the run waits"),
                run=(WELL,),
                then=(NOTHING_NEW,),
                queries_may_fail=True,
            )
    for how, mode, retries in product(("killed", "expired"), ("sync", "swap"), (0, 2)):
        yield Row(
            f"the minion in a subtask: {how}",
            mode,
            retries,
            MinionInSubtask(how),
            run=(WELL, "FilesFailedError"),
            then=(SWITCHED,),
            by_default=(how, mode, retries) == ("expired", "swap", 0),
        )
    for retries in (0, 2):
        yield Row(
            "the run's ZooKeeper session ends while subtasks run",
            "append",
            retries,
            SessionExpired(Halt("after", "task name")),
            run=("ConflictError",),
            then=(SWITCHED,),
            same_session=retries > 0,
            retry_count=1 if retries else 0,
        )
        yield Row(
            "the run's ZooKeeper session ends while subtasks run, and another run takes the table",
            "append",
            retries,
            SessionExpired(Halt("after", "task name"), other_run=SWITCHED),
            run=("ConflictError",),
            then=(NOTHING_NEW,),
        )
    for call in ("POST startReplaceSegments", "POST push", "POST endReplaceSegments"):
        for arrives in (None, Halt("before", call), Halt("after", call)):
            yield Row(
                f"the run is killed, and its {call} arrives {arrives or 'after the end'} of the next run",
                "swap",
                0,
                Late("POST", KEYS[call], arrives),
                run=(WELL,),
                then=(NOTHING_NEW,),
                by_default=arrives == Halt("before", "POST startReplaceSegments"),
            )
        halt = Halt("before", call, since="session SWITCH")
        yield Row(
            f"the run's ZooKeeper session ends in the switch {halt}",
            "sync",
            0,
            SessionExpired(halt),
            run=(WELL,),
            then=(NOTHING_NEW,),
        )
        yield Row(
            f"the run's ZooKeeper session ends in the switch {halt}, and another run finishes it",
            "swap",
            0,
            SessionExpired(halt, other_run=FINISHED),
            run=(WELL, "ConflictError"),
            then=(NOTHING_NEW,),
            by_default=call == "POST endReplaceSegments",
        )


_S3_FAULTS = ("500", "503", "slow", "body cut", "connection dropped", "reply lost")
_S3_POINTS = {
    "the list of the source": ("LIST", "{bucket}", None),
    "a source file's get": ("GET", "{source}/*", None),
    "a staged segment's put": ("PUT", "{staging}/*", None),
    "a staged segment's get": ("GET", "{staging}/*", SWITCH),
    "the deletion of staging": ("POST", "{staging_bucket}", Halt("after", "session DONE")),
}


def _s3() -> Iterator[Row]:
    for point, (operation, key, since) in _S3_POINTS.items():
        for fault in _S3_FAULTS:
            if fault == "body cut" and operation == "PUT":
                continue  # the reply has no body
            for times in (1,) if fault == "slow" else (1, None):
                # The second push mode downloads whole segments instead of their metadata.
                for push in ("METADATA", "TAR") if since is SWITCH else ("METADATA",):
                    yield Row(
                        f"{fault}, {'once' if times else 'each time'}, of {point}"
                        + (f" ({push.lower()} push)" if since is SWITCH else ""),
                        "append",
                        0 if times else 2,
                        Http("s3", fault, operation, key, times, since),
                        by_default=(point, fault, times) == ("a source file's get", "body cut", None),
                        configs={"push.mode": push},
                        **_with_s3(point, fault, times),
                    )


def _with_s3(point: str, fault: str, times: int | None) -> dict[str, Any]:
    repeated = times is not None and (fault != "body cut" or point == "the list of the source")
    if repeated or point == "the deletion of staging":
        return {"run": (WELL,), "then": (NOTHING_NEW,)}
    if point == "the list of the source":
        return {"run": (SOURCE,), "then": (SWITCHED,), "same_session": False}
    if point == "a staged segment's get":
        return {"run": (SOURCE,), "then": (FINISHED,), "same_session": True}
    again = times is None
    return {
        "run": (FILES,),
        "then": (SWITCHED,),
        "same_session": again,
        "retry_count": 1 if again else 0,
    }


def _deleted_segments() -> Iterator[Row]:
    """A segment of the switch is deleted by hand: the four orders of apache/pinot#18518.

    Pinot refuses none of these deletes before version 1.6.
    """
    start, end = "POST startReplaceSegments", "POST endReplaceSegments"
    for mode in ("sync", "swap"):
        for point, halt, risk, finding in (
            ("before the switch begins", Halt("before", start), None, None),
            ("in the switch", Halt("after", start), DeleteRisk.OPEN_REPLACEMENT, LineageFinding.LOST_SOURCES),
            ("after the switch", Halt("after", end), DeleteRisk.REVERT, None),
        ):
            yield Row(
                f"a segment to be replaced is deleted {point}",
                mode,
                0,
                SegmentDeleted(halt, is_new=False, risk=risk, finding=finding),
                run=(WELL,) if risk else ("ConflictError",),
                then=(NOTHING_NEW,) if risk else (FINISHED,),
                same_session=True,
                by_default=(mode, halt.when, halt.step) == ("sync", "after", start),
            )
    for mode in ("append", "sync"):
        for step, nth in (("POST push", 2), (end, 1)):
            halt = Halt("before" if step == end else "after", step, nth)
            yield Row(
                f"a new segment is deleted in the switch {halt}",
                mode,
                0,
                SegmentDeleted(
                    halt, is_new=True, risk=DeleteRisk.OPEN_REPLACEMENT, finding=LineageFinding.STUCK
                ),
                run=(WELL,),
                then=(NOTHING_NEW,),
                by_default=(mode, step) == ("append", end),
            )
