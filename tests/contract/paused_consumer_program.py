"""Starts the threads of consuming segments, whose gate is ours; runs as a child process with commands.

The segments are bare objects of Pinot's class, without a table: only their threads and flags are used.
"""

from __future__ import annotations

import json
import logging
import sys
from types import SimpleNamespace
from typing import Any, cast

import jpype

from controller_client.common.names import SegmentName
from controller_client.helix.ideal_state import ConsumptionFlags
from jvm_bridge.java_errors import JAVA_ERRORS
from jvm_bridge.jvm import logging_options, start_jvm_with
from jvm_bridge.role_host import HostedServerView
from server_hooks.pause.extension_point import SegmentConsumer, install_extension
from server_hooks.pause.gate import Gate, TableFlags
from server_hooks.table_managers import PACKAGE, has_extension_point
from tests.support.java_options import QUICK_START

logger = logging.getLogger(__name__)

_REALTIME = "org.apache.pinot.core.data.manager.realtime"
_RECHECK_S = 0.02
_HELD_MS = 200
_LONG_MS = 60_000


class Segments:
    """Consuming segments, each of a table of its own, whose partition is paused."""

    def __init__(self) -> None:
        self._gate = Gate(
            lambda _table: _flags(0, zxid=1),
            lambda _table, error: logger.error("%s", error),
            lambda _table, _segment: False,
            recheck_s=_RECHECK_S,
        )
        starter = SimpleNamespace(getConfig=lambda: SimpleNamespace(setProperty=lambda *_: None))
        role = cast("HostedServerView", SimpleNamespace(configuration={}, starter=starter))
        self._extension = install_extension(role, self._on_start)
        self._is_patched = not has_extension_point()
        base = f"{_REALTIME}.{'LL' if self._is_patched else ''}RealtimeSegmentDataManager"
        self._base = jpype.JClass(base)
        self._class = self._base if self._is_patched else jpype.JClass(f"{PACKAGE}.ConsumingSegment")
        self._asked: list[str] = []

    def run(self, table: str, do: str) -> dict[str, Any]:
        """Start a segment's thread, do something to it, and return what became of the thread."""
        segment = SegmentName(0, 0, f"{table}__0__0__20260101T0000Z")
        manager = self._bare(segment.name)
        thread = jpype.JClass("java.lang.Thread")(self._consumer(manager), segment.name)
        _set(self._base, "_consumerThread", manager, thread)
        thread.start()
        thread.join(_HELD_MS)
        is_held = bool(thread.isAlive())
        match do:
            case "stop":
                manager.stop()  # as when the segment is dropped; waits for the thread
            case "commit":
                manager.forceCommit()
            case "resume":
                self._gate.update(segment.table, _flags(zxid=2))
        thread.join(_LONG_MS)
        return {
            "asked": self._asked.count(segment.name),
            "held": is_held,
            "ended": not thread.isAlive(),
            "released": self._gate.is_released(segment.table, segment),
            "stops": self._extension.must_stop(manager),
            "commits": self._extension.must_commit(manager),
        }

    def _on_start(self, manager: Any) -> None:
        segment = SegmentName.parse(str(manager.getSegmentName()))
        assert segment
        assert self._extension.is_consuming(manager)
        self._asked.append(segment.name)
        consumer = SegmentConsumer(manager, self._extension, manager.forceCommit)
        self._gate.hold(segment.table, segment, consumer)

    def _bare(self, name: str) -> Any:
        """A segment's data manager that was not constructed; its thread fails as soon as it consumes."""
        unsafe = jpype.JClass("sun.misc.Unsafe").class_.getDeclaredField("theUnsafe")
        unsafe.setAccessible(True)
        manager = unsafe.get(None).allocateInstance(self._class.class_)
        _set(self._base, "_segmentNameStr", manager, jpype.JString(name))
        _set(self._base, "_segmentLogger", manager, jpype.JClass("org.slf4j.LoggerFactory").getLogger(name))
        if not self._is_patched:
            _set(self._class, "name", manager, jpype.JString(name))
        return manager

    def _consumer(self, manager: Any) -> Any:
        """What the thread of a segment runs."""
        if self._is_patched:
            return jpype.JClass(f"{self._base.class_.getName()}$PartitionConsumer")(manager)
        loop = self._class.class_.getDeclaredMethod("consumeLoop")
        loop.setAccessible(True)

        def consume() -> None:
            for _ in range(2):  # also to catch up with another replica
                try:
                    loop.invoke(manager)
                except JAVA_ERRORS as error:
                    logger.info("%s", error)

        return jpype.JProxy("java.lang.Runnable", dict={"run": consume})


def _flags(*partitions: int, zxid: int) -> TableFlags:
    return TableFlags(ConsumptionFlags(False, frozenset(partitions)), zxid)


def _set(owner: Any, field: str, target: Any, value: Any) -> None:
    found = owner.class_.getDeclaredField(field)
    found.setAccessible(True)
    found.set(target, value)


def main() -> None:
    """``{table, do}``: runs the consumer of a segment."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    start_jvm_with(["-Xmx256m", *QUICK_START.split(), *logging_options()])
    segments = Segments()
    print("{}", flush=True)  # noqa: T201  # read by the test
    for line in sys.stdin:
        print(json.dumps(segments.run(**json.loads(line))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
