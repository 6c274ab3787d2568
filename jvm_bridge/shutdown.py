"""Runs Python code during the shutdown of the JVM, and ends the process through it."""

from __future__ import annotations

import sys
from collections.abc import Callable

import jpype

from jvm_bridge.java_interface import overrides

__all__ = ["at_shutdown", "exit_process"]


def at_shutdown(action: Callable[[], None]) -> None:
    """Run a function when the JVM ends: by a signal, ``System.exit``, or the end of Python.

    Args:
        action: Called in a shutdown thread of the JVM, while Java can still call Python.
    """
    # JPype manages such threads itself, and starts them before it disables calls to Python.
    jpype.JClass("java.lang.Runtime").getRuntime().addShutdownHook(
        jpype.JClass("java.lang.Thread")(_Runnable(action), "role-stop")
    )


def exit_process(code: int) -> None:
    """End the process as Java does: run shutdown hooks, and do not wait for threads that Pinot left."""
    sys.stdout.flush()
    sys.stderr.flush()
    jpype.JClass("java.lang.System").exit(code)


@jpype.JImplements("java.lang.Runnable", deferred=True)
class _Runnable:
    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action

    @overrides
    def run(self) -> None:
        """Called in a shutdown thread of the JVM."""
        self._action()
        sys.stdout.flush()
        sys.stderr.flush()
