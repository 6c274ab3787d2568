"""The errors of calls to ZooKeeper, in this project's words."""

from __future__ import annotations

from controller_client.errors import ConflictError, NotFoundError, UnreachableError

__all__ = ["changed_meanwhile", "missing", "unreachable"]


def unreachable(address: str, what: str, timeout_s: float) -> UnreachableError:
    """ZooKeeper does not answer: ``what`` is what it does instead."""
    return UnreachableError(
        f"ZooKeeper {what} within {timeout_s:g} s",
        where=address,
        remedy="check that it runs and that the address is right",
    )


def changed_meanwhile(where: str, expected_version: int) -> ConflictError:
    """A znode is not at the version that a change is based on."""
    return ConflictError(
        "the znode was changed by somebody else meanwhile",
        expected=f"version {expected_version}",
        where=where,
        remedy="read it again and apply the change to what is there now",
    )


def missing(where: str) -> NotFoundError:
    """There is no znode."""
    return NotFoundError("there is no such znode", where=where)
