"""Builds the paths of requests; the only place that puts a name into one."""

from __future__ import annotations

import re
from urllib.parse import quote

from controller_client.errors import ConfigError

__all__ = ["fits_in_path", "path_of"]

_NOT_IN_NAME = re.compile("[/\\\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_NAME = 2_000


def fits_in_path(name: str) -> bool:
    """Whether a controller can be asked for an object: its HTTP server refuses quoted slashes."""
    return name not in (".", "..") and bool(name.strip()) and not _NOT_IN_NAME.search(name)


def path_of(*parts: str) -> str:
    """Join names to a path, each quoted, so that a name with a space or a question mark stays one part.

    Raises:
        ConfigError: A name cannot be part of a path, see :func:`fits_in_path`.
    """
    for part in parts:
        if not fits_in_path(part):
            raise ConfigError(
                f"{part[:_LONGEST_NAME]!r} is not a valid name",
                expected="the name of a table, segment, instance ... without slashes, backslashes and control"
                " characters",
            )
    return "".join("/" + quote(part, safe="") for part in parts)
