"""A row of the table of Pinot's quirks: the responses it matches, and the error they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from controller_client.errors import PinotPluginError

__all__ = ["MappedError", "Override", "error_row"]


@dataclass(frozen=True)
class Override:
    """One quirk: a response that does not mean what its status suggests.

    Attributes:
        methods: HTTP methods.
        path: Pattern for the whole path, without the query.
        status: HTTP status.
        text: Pattern to search for in the response's text.
        error: The error it stands for.
        remedy: What the reader should do, if that is clear.
        message: What happened, if Pinot's text does not make it clear; may contain the named groups of both
            patterns in braces.
        seen_on: Pinot version it was captured from.
    """

    methods: tuple[str, ...]
    path: re.Pattern[str]
    status: int
    text: re.Pattern[str]
    error: type[PinotPluginError]
    remedy: str | None
    message: str | None
    seen_on: str

    def verdict(self, method: str, path: str, status: int, text: str) -> MappedError | None:
        """Return the verdict on a response; None if this row does not match."""
        if method not in self.methods or status != self.status:
            return None
        in_path, in_text = self.path.fullmatch(path), self.text.search(text)
        if in_path is None or in_text is None:
            return None
        names = {key: unquote(value) for key, value in in_path.groupdict().items()}
        message = self.message and self.message.format(**names, **in_text.groupdict())
        return MappedError(self.error, self.remedy, message)


class MappedError(NamedTuple):
    """The error that a response stands for.

    Attributes:
        error: Its class.
        remedy: What the reader should do, if known.
        message: What happened, if Pinot's text does not make it clear.
    """

    error: type[PinotPluginError]
    remedy: str | None = None
    message: str | None = None


def error_row(
    methods: str,
    path: str,
    status: int,
    text: str,
    error: type[PinotPluginError],
    remedy: str | None = None,
    message: str | None = None,
    seen_on: str = "0.11.0",
) -> Override:
    """Return a row of the table; see :class:`Override`. ``methods`` are separated by spaces."""
    found = re.compile(text, re.IGNORECASE | re.DOTALL)
    return Override(tuple(methods.split()), re.compile(path), status, found, error, remedy, message, seen_on)
