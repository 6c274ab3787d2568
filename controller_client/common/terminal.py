"""Makes foreign text safe for a terminal: control characters are shown as escapes (:func:`.visible`).

Names of files, segments and tables, and responses of peers, may contain any characters: some move the cursor,
set a colour or the window's title, simulate input, or reverse the order of letters.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

from controller_client.common.redaction import mask_text
from controller_client.common.text import visible

__all__ = ["LogFormatter", "json_text", "visible_lines"]

_IN_LINE = re.compile("[^\n\t]+")
# JSON itself escapes the first control characters, and the line breaks between its lines are not part of a
# text.
_NOT_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def visible_lines(text: str) -> str:
    """Return a text without control characters other than line breaks and tabs."""
    return _IN_LINE.sub(lambda match: visible(match[0]), text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON with control characters escaped, but no other characters."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class LogFormatter(logging.Formatter):
    """Formats log records without control characters and with secrets masked.

    No foreign text can look like a record: a message is one line, and the lines of a traceback are indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        text = super().format(record)
        message = self.formatMessage(record)
        traceback = visible_lines(mask_text(text.removeprefix(message))).split("\n")
        return "\n  ".join([visible(mask_text(message)), *filter(None, traceback)])
