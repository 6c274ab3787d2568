"""An in-memory lineage behind a connection that loses replies; simulates faults, not Pinot's behaviour.

Each call can be given a fault: ``LOST_AFTER`` applies it and breaks the connection, ``LOST_BEFORE`` breaks it
without applying, ``REFUSED`` answers with 0.11.0's one text for everything, and applies nothing.
"""

from __future__ import annotations

import uuid
from collections import Counter, deque
from enum import Enum
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from controller_client.common.names import TableName
from tests.unit.controller_client.scripted_server import NOTHING, ScriptedServer, Seen, Step, answer, reset

TABLE = TableName("t_OFFLINE")


class Fault(Enum):
    """What happens to a call."""

    NONE = "none"
    LOST_AFTER = "applied, reply lost"
    LOST_BEFORE = "not applied, connection lost"
    REFUSED = "answered with 500"


class LineageServer:
    """Serves the calls of a replacement.

    Attributes:
        entries: Entry id -> document, as Pinot writes them.
        segments: Segment -> state in the external view; the ideal state says ONLINE of each.
        faults: Call ("start", "end", "revert") -> faults of the next such calls.
        calls: The calls that change something, in order.
        reads: Number of reads of the lineage, and of the segments.
        unreadable_after: A call after which the lineage can no longer be read.
    """

    def __init__(self, server: ScriptedServer) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.segments: dict[str, str] = {}
        self.faults: dict[str, deque[Fault]] = {"start": deque(), "end": deque(), "revert": deque()}
        self.calls: list[str] = []
        self.reads = Counter[str]()
        self.unreadable_after: str | None = None
        self.version = "0.11.0"
        server.answers = self.step

    def add_entry(
        self, state: str, segments_from: list[str], segments_to: list[str], timestamp: int = 1
    ) -> str:
        entry_id = str(uuid.uuid4())
        self.entries[entry_id] = {
            "segmentsFrom": segments_from,
            "segmentsTo": segments_to,
            "state": state,
            "timestamp": timestamp,
        }
        return entry_id

    def states(self) -> list[str]:
        return [entry["state"] for entry in self.entries.values()]

    def step(self, seen: Seen) -> Step:
        parts = [unquote(part) for part in urlsplit(seen.target).path.strip("/").split("/")]
        query = {key: values[0] for key, values in parse_qs(urlsplit(seen.target).query).items()}
        match (seen.method, *parts):
            case ("GET", "version"):
                return answer(200, {"pinot-controller": self.version})
            case ("GET", "segments", _, "lineage"):
                self.reads["lineage"] += 1
                if self.unreadable_after in self.calls:
                    return reset
                return answer(200, {"lineageEntries": self.entries}) if self.entries else NOTHING
            case ("GET", "segments", _):
                self.reads["segments"] += 1
                return answer(200, [{"OFFLINE": self._list(query["excludeReplacedSegments"] == "true")}])
            case ("GET", "tables", _, "idealstate"):
                return answer(200, {"OFFLINE": {name: {"Server_1": "ONLINE"} for name in self.segments}})
            case ("GET", "tables", _, "externalview"):
                return answer(
                    200, {"OFFLINE": {name: {"Server_1": state} for name, state in self.segments.items()}}
                )
            case ("POST", "segments", _, "delete"):
                self.calls.append("delete")
                for name in seen.json():
                    self.segments.pop(name, None)
                return answer(200, {"status": "deleted"})
            case ("POST", "segments", _, "startReplaceSegments"):
                return self._change("start", lambda: self._start(seen.json()))
            case ("POST", "segments", _, "endReplaceSegments"):
                entry = self.entries[query["segmentLineageEntryId"]]
                return self._change("end", lambda: self._set(entry, "COMPLETED"))
            case ("POST", "segments", _, "revertReplaceSegments"):
                entry = self.entries[query["segmentLineageEntryId"]]
                assert query["forceRevert"] == str(entry["state"] == "IN_PROGRESS").lower()
                return self._change("revert", lambda: self._set(entry, "REVERTED"))
        raise AssertionError(f"unexpected call {seen.method} {seen.target}")

    def _change(self, call: str, apply: Any) -> Step:
        self.calls.append(call)
        fault = self.faults[call].popleft() if self.faults[call] else Fault.NONE
        if fault is Fault.REFUSED:
            text = f"Failed to update the segment lineage during {call}ReplaceSegments."
            return answer(500, {"code": 500, "error": text})
        if fault is Fault.LOST_BEFORE:
            return reset
        document = apply()
        return reset if fault is Fault.LOST_AFTER else answer(200, document)

    def _start(self, body: dict[str, list[str]]) -> dict[str, str]:
        return {
            "segmentLineageEntryId": self.add_entry("IN_PROGRESS", body["segmentsFrom"], body["segmentsTo"])
        }

    def _set(self, entry: dict[str, Any], state: str) -> None:
        entry["state"] = state

    def _list(self, exclude_replaced: bool) -> list[str]:
        hidden: set[str] = set()
        for entry in self.entries.values() if exclude_replaced else ():
            hidden |= set(entry["segmentsFrom" if entry["state"] == "COMPLETED" else "segmentsTo"])
        return [name for name in self.segments if name not in hidden]
