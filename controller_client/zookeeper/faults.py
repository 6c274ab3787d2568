"""The errors of calls to ZooKeeper, in this project's words."""

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
    """ZooKeeper does not answer: ``what`` is what it does instead."""
    return UnreachableError(
        f"ZooKeeper {what} within {timeout_s:g} s",
        where=address,
        remedy="check that it runs and that the address is right",
    )


def refused(where: str) -> AuthError:
    """A znode's ACL does not let this client do what it wants."""
    return AuthError(
        "ZooKeeper refuses the access",
        where=where,
        expected="a client that the znode's ACL names",
        remedy="set who this client is (PINOT_ZOOKEEPER_AUTH and what belongs to it), or the znode's ACL",
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


def refused_transaction(where: str) -> ConflictError:
    """A znode of a transaction is not as its write expects it."""
    return ConflictError(
        "a znode was changed by somebody else meanwhile; nothing was written",
        where=where,
        remedy="read them again and apply the change to what is there now",
    )


def lost_transaction(where: str) -> OutcomeUnknownError:
    """Nobody knows whether a transaction was applied."""
    return OutcomeUnknownError(
        "the reply to a transaction was lost",
        where=where,
        remedy="read the znodes and decide whether the change is in them",
    )
