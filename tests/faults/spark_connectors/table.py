"""The fault table of writes: each row is a point where a fault is injected, and the expected result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.faults.file_ingestion.runs import Halt
from tests.faults.spark_connectors.injections import (
    CommitProcessKilled,
    Http,
    Injection,
    InTurn,
    Killed,
    KilledInCall,
    LateStart,
)
from tests.support.faulty_http import FaultyHttp, Rule
from tests.support.needs import Need, has

NEW_TABLE = "a new table"


@dataclass(frozen=True)
class Row:
    """One fault.

    Attributes:
        point: Where the fault is injected.
        mode: The mode of the write.
        applied: Whether the write with the fault has added its rows.
        leaves_staged: Whether only the age of its staged files shows that they are no longer needed.
        creates: Whether the write creates its table, with ``createTable``.
        by_default: Whether it is tested without ``--full``.
    """

    point: str
    mode: str
    injection: Injection
    applied: bool
    leaves_staged: bool = False
    creates: bool = False
    by_default: bool = False

    @property
    def place(self) -> str:
        """The kind of table to which it writes."""
        return NEW_TABLE if self.creates else self.mode

    @property
    def id(self) -> str:
        return f"{self.place}: {self.point}"


START, PUSH, END = "segments/{raw}/startReplaceSegments", "v2/segments", "segments/{raw}/endReplaceSegments"
# What a driver changes in a commit of two segments, in order.
STEPS = (
    *(("POST startReplaceSegments", 1), ("POST push", 1), ("POST push", 2)),
    *(("POST endReplaceSegments", 1), ("delete staging", 1)),
)
KEYS = {"POST startReplaceSegments": START, "POST push": PUSH, "POST endReplaceSegments": END}
# Before that, with `createTable`.
MAKING = ("POST schemas", "POST tables")
# What the next write changes to revert a killed one.
UNDOING = {
    "POST revertReplaceSegments": "segments/{raw}/revertReplaceSegments",
    **({} if has(Need.REVERTS_DELETE) else {"POST delete": "segments/{raw}_OFFLINE/delete"}),
}

_KILLS_BY_DEFAULT = {("overwrite", "before POST endReplaceSegments")}


def rows() -> list[Row]:
    """All rows."""
    return [*_kills(), *_kills_in_the_making(), *_calls()]


def _kills() -> Iterator[Row]:
    for mode in ("overwrite", "append"):
        for step, nth in STEPS:
            for when in ("before", "after"):
                halt = Halt(when, step, nth)
                yield Row(
                    f"the driver is killed {halt}",
                    mode,
                    Killed(halt),
                    applied=step == "delete staging" or str(halt) == "after POST endReplaceSegments",
                    leaves_staged=str(halt) == "before POST startReplaceSegments",
                    by_default=(mode, str(halt)) in _KILLS_BY_DEFAULT,
                )
        for step, key in KEYS.items():
            yield Row(
                f"the driver is killed when {step} is applied",
                mode,
                KilledInCall(key),
                applied=key == END,
            )
    for step in ("POST push", "POST endReplaceSegments"):
        yield Row(
            f"Spark's commit process is killed when {step} is applied, and Spark aborts",
            "overwrite",
            CommitProcessKilled(KEYS[step]),
            applied=KEYS[step] == END,
        )
    pushed = Halt("after", "POST push")
    for step, key in UNDOING.items():
        seconds: dict[str, Injection] = {
            str(halt): Killed(halt) for halt in (Halt("before", step), Halt("after", step))
        }
        for when, second in {**seconds, f"when {step} is applied": KilledInCall(key)}.items():
            yield Row(
                f"the driver is killed {pushed}, and the next one {when}",
                "overwrite",
                InTurn((Killed(pushed), second)),
                applied=False,
                leaves_staged=True,
            )
    yield Row(
        "the driver is killed, and its startReplaceSegments arrives after the next write",
        "append",
        LateStart(),
        applied=True,
    )


def _kills_in_the_making() -> Iterator[Row]:
    for step in MAKING:
        resource = step.partition(" ")[2]
        for when in ("before", "after"):
            halt = Halt(when, step)
            yield Row(f"the driver is killed {halt}", "append", Killed(halt), applied=False, creates=True)
        yield Row(
            f"the driver is killed when {step} is applied",
            "append",
            KilledInCall(resource),
            applied=False,
            creates=True,
        )


def _lost_and_blind(proxy: FaultyHttp, raw: str) -> Rule:
    """Lose the reply of the end, and make the lineage unreadable from then on."""
    rule = proxy.drop_reply("POST", END.format(raw=raw))
    proxy.answer(503, "GET", f"segments/{raw}/lineage", since=rule)
    return rule


_ANY = r"controller_client\.errors\."
_CALLS = {
    "start lost": (Http(lambda proxy, raw: proxy.drop_reply("POST", START.format(raw=raw))), True),
    "start 500": (
        Http(lambda proxy, raw: proxy.answer(500, "POST", START.format(raw=raw)), "says 500"),
        False,
    ),
    "push dropped": (Http(lambda proxy, _: proxy.drop_request("POST", PUSH), _ANY), False),
    "push lost": (Http(lambda proxy, _: proxy.drop_reply("POST", PUSH), _ANY), False),
    "push 500": (Http(lambda proxy, _: proxy.answer(500, "POST", PUSH), "says 500"), False),
    "end lost": (Http(lambda proxy, raw: proxy.drop_reply("POST", END.format(raw=raw))), True),
    "end 500": (Http(lambda proxy, raw: proxy.answer(500, "POST", END.format(raw=raw)), "says 500"), False),
    "end lost and blind": (Http(_lost_and_blind, _ANY), True),
    "no brokers": (
        Http(lambda proxy, raw: proxy.answer(404, "GET", f"v2/brokers/tables/{raw}_OFFLINE")),
        True,
    ),
}


def _calls() -> Iterator[Row]:
    for point, (injection, applied) in _CALLS.items():
        yield Row(point, "overwrite", injection, applied)
