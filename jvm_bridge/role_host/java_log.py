"""Passes Python's log records to Java's logger, so that a hosted role has one log with one format."""

from __future__ import annotations

import logging
from typing import Any

import jpype

from controller_client.common.terminal import LogFormatter

__all__ = ["log_through_java"]


def log_through_java() -> None:
    """Replace the handlers of Python's root logger; the JVM must be running. log4j filters by level."""
    root = logging.getLogger()
    root.handlers[:] = [_JavaHandler()]
    root.setLevel(min(root.level, logging.INFO))


class _JavaHandler(logging.Handler):
    """Called in the thread that logs, a Python or a Java thread."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LogFormatter())
        self._factory: Any = jpype.JClass("org.slf4j.LoggerFactory")

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            target = self._factory.getLogger(record.name)
            # Without arguments slf4j does not interpret braces in the text.
            text = jpype.JString(self.format(record))
            if record.levelno >= logging.ERROR:
                target.error(text)
            elif record.levelno >= logging.WARNING:
                target.warn(text)
            elif record.levelno >= logging.INFO:
                target.info(text)
            else:
                target.debug(text)
        except Exception:  # noqa: BLE001  # like every logging handler: a log line must not end the program
            self.handleError(record)
