"""Makes foreign text safe for a terminal: control characters are shown as escapes (``visible_text``).

Names of files, segments and tables, and responses of peers, may contain any characters: some move the cursor,
set a colour or the window's title, simulate input, or reverse the order of letters.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from controller_client.common.redaction import mask_text
from controller_client.common.text import visible

__all__ = ["Console", "LogFormatter", "json_text", "visible_lines"]


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


class Console:
    """Makes links to the console of a controller.

    A link contains no credentials: whoever follows it logs in to the console if the console requires it.

    Args:
        url: The controller's base address; None: it is unknown, and there are no links.
    """

    def __init__(self, url: str | None = None) -> None:
        self._base = None if url is None else _without_credentials(url)

    def table(self, table: str) -> str | None:
        """Return the link to a table, by its name with type."""
        return self._link("tenants", "table", table)

    def segment(self, table: str, segment: str) -> str | None:
        """Return the link to a segment of a table, by its name with type."""
        return self._link("tenants", "table", table, segment)

    def instance(self, name: str) -> str | None:
        """Return the link to an instance, e.g. ``Server_host_8098``."""
        return self._link("instance", name)

    def _link(self, *parts: str) -> str | None:
        if self._base is None:
            return None
        # "surrogatepass": a name that is no UTF-8 is a dead link, not an error.
        return "/".join(
            [f"{self._base}/#", *(quote(part, safe="", errors="surrogatepass") for part in parts)]
        )


def _without_credentials(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
