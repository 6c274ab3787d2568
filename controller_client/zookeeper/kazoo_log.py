"""Hides the contents of znodes in kazoo's log, which on DEBUG has full requests and replies."""

from __future__ import annotations

import logging
from typing import Any

from kazoo.protocol.serialization import SASL, Auth

__all__ = ["hide_contents"]


class _WithoutContents(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the bytes in a log line with their number; called in kazoo's threads."""
        if isinstance(record.args, tuple):
            record.args = tuple(map(_without_contents, record.args))
        return True


def _without_contents(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Auth | SASL):
        return type(value).__name__
    if isinstance(value, tuple):
        parts = map(_without_contents, value)
        # A named tuple (a request, a reply) is constructed from its fields, a plain one from a sequence.
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_without_contents(part) for part in value]
    return value


_FILTER = _WithoutContents()


def hide_contents() -> None:
    """Make kazoo's clients log sizes instead of contents; may be called repeatedly."""
    # kazoo uses this logger in all parts of a client unless another one is given.
    logging.getLogger("kazoo.client").addFilter(_FILTER)
