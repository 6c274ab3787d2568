"""This project's errors for calls to ZooKeeper."""

from __future__ import annotations

from controller_client.errors import (
    AuthError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    UnreachableError,
)

__all__ = [
    "changed_meanwhile",
    "lost_transaction",
    "missing",
    "refused",
    "refused_transaction",
    "unreachable",
]


def unreachable(address: str, what: str, timeout_s: float) -> UnreachableError:
    """Return the error for a ZooKeeper that does not answer; ``what`` is what happened instead."""
    return UnreachableError(
        f"ZooKeeper {what} within {timeout_s:g} s",
        where=address,
        remedy="check that it is running and that the address is correct",
    )


def refused(where: str) -> AuthError:
    """Return the error for a call that a znode's ACL forbids."""
    return AuthError(
        "ZooKeeper refused access",
        where=where,
        expected="a client that the znode's ACL permits",
        remedy="set this client's credentials (PINOT_ZOOKEEPER_AUTH and so on), or the znode's ACL",
    )


def changed_meanwhile(where: str, expected_version: int) -> ConflictError:
    """Return the error for a znode that no longer has the version a change is based on."""
    return ConflictError(
        "another client changed the znode in the meantime",
        expected=f"version {expected_version}",
        where=where,
        remedy="read it again and apply the change to its current content",
    )


def missing(where: str) -> NotFoundError:
    """Return the error for a missing znode."""
    return NotFoundError("there is no such znode", where=where)


def refused_transaction(where: str) -> ConflictError:
    """Return the error for a transaction with a znode that is not in the expected state."""
    return ConflictError(
        "another client changed a znode in the meantime; nothing was written",
        where=where,
        remedy="read the znodes again and apply the change to their current content",
    )


def lost_transaction(where: str) -> OutcomeUnknownError:
    """Return the error for a transaction that may or may not have been applied."""
    return OutcomeUnknownError(
        "the reply to a transaction was lost",
        where=where,
        remedy="read the znodes and check whether they contain the change",
    )
