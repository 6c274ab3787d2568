r"""Foreign text made fit for a terminal: what would steer it is shown as an escape, e.g. ``\x1b``.

Names of files, segments and tables, and what a peer answers, may hold any character: one that moves the
cursor, sets a colour or the window's title, answers as if it was typed, or turns the order of letters around.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

from controller_client.redaction import mask_text

__all__ = ["LogFormatter", "json_text", "printable", "printable_lines"]

# C0 and C1 controls, delete, what turns the direction of writing, other ends of lines, halves of surrogates.
_NOT_JSON = "\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_CONTROL = re.compile(f"[\x00-\x08\x0a-\x1f{_NOT_JSON}]")
_CONTROL_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_NOT_JSON}]")
_CONTROL_IN_JSON = re.compile(f"[{_NOT_JSON}]")


def printable(text: str) -> str:
    """Return a text as one line without control characters other than tabulators."""
    return _CONTROL.sub(_escape, text)


def printable_lines(text: str) -> str:
    """Return a text without control characters other than line breaks and tabulators."""
    return _CONTROL_IN_LINES.sub(_escape, text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON in which control characters are escaped, and other letters are not."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return _CONTROL_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {"\n": "\\n", "\r": "\\r"}.get(match[0])
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


class LogFormatter(logging.Formatter):
    """Formats log records for people: without control characters, and with what looks secret masked."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's lines."""
        return printable_lines(mask_text(super().format(record)))
