"""What queries are told of the versions of a server's upsert tables; Java: ``upsert.ServedVersions``.

Queries do not come through Python. All of this is after the Java was loaded, in any thread.
"""

from __future__ import annotations

from typing import Any

import jpype

from server_hooks.upsert.server_events import PACKAGE

__all__ = ["complete", "forget", "set_wait", "wrote"]


def set_wait(wait_ms: int) -> None:
    """Set how long queries wait for a version that is not complete here, in milliseconds."""
    _java().install(wait_ms)


def complete(table: str, version: int) -> None:
    """The server is complete up to a version; to be called before anybody else is told.

    Args:
        table: Name with type.
        version: The version.
    """
    _java().complete(table, version)


def wrote(table: str, version: int) -> None:
    """Something was written about a version or later ones; to be called after it.

    Args:
        table: Name with type.
        version: The least version that was written.
    """
    _java().wrote(table, version)


def forget(table: str) -> None:
    """A table is gone."""
    _java().forget(table)


def _java() -> Any:
    return jpype.JClass(f"{PACKAGE}.ServedVersions")
