"""Python code in the shutdown of the JVM, and the end of the process by it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import jpype

from jvm_bridge.java_interface import overrides

__all__ = ["at_shutdown", "exit_process"]


def at_shutdown(action: Callable[[], None]) -> None:
    """Have something done when the JVM ends: by a signal, ``System.exit``, or the end of Python.

    Args:
        action: Called in a thread of the JVM's shutdown, before Java loses its way into Python.
    """
    # JPype keeps such threads itself, and starts them before it closes that way.
    jpype.JClass("java.lang.Runtime").getRuntime().addShutdownHook(
        jpype.JClass("java.lang.Thread")(_Runnable(action), "role-stop")
    )


def exit_process(code: int) -> None:
    """End as Java does: its shutdown hooks run, and threads that Pinot left behind are not waited for."""
    sys.stdout.flush()
    sys.stderr.flush()
    jpype.JClass("java.lang.System").exit(code)


@jpype.JImplements("java.lang.Runnable", deferred=True)
class _Runnable:
    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action

    @overrides
    def run(self) -> None:
        """Called in a thread of the JVM's shutdown."""
        self._action()
        sys.stdout.flush()
        sys.stderr.flush()
