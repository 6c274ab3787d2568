"""Patterns of file names: the first line is the pattern, the rest is a path."""

from __future__ import annotations

from controller_client.errors import ConfigError
from minion_tasks.file_ingestion.params.patterns import PathMatcher


def parse(data: bytes) -> None:
    pattern, _, path = data.decode(errors="replace").partition("\n")
    try:
        matcher = PathMatcher(pattern)
    except ConfigError:
        return
    matcher.matches(path)
    matcher.spells_out(path)
    try:
        matcher.check_reaches([path])
    except ConfigError:
        return
