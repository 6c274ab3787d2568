"""What a network fault means for a call: sent or not, repeatable or unknown."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator

import requests
from urllib3.exceptions import MaxRetryError, NewConnectionError

from controller_client.common.reply_limits import ReplyTooLongError
from controller_client.common.retry import TransientFailureError
from controller_client.errors import (
    NotAppliedError,
    OutcomeUnknownError,
    PinotPluginError,
    UnreachableError,
)

__all__ = ["translate"]

_LINE_FAULTS = (requests.Timeout, requests.ConnectionError, requests.exceptions.ChunkedEncodingError)


def translate(
    fault: requests.RequestException, *, where: str, reads: bool, clean: Callable[[str], str]
) -> PinotPluginError | TransientFailureError:
    """Describe what a fault means; see the table in :mod:`controller_client.rest.transport`.

    Args:
        fault: The exception from requests.
        where: The call, without credentials.
        reads: Whether the call is read-only.
        clean: Removes credentials from the fault's text.

    Returns:
        A :class:`TransientFailureError` if the call may be repeated, else the error itself.
    """
    reason = clean(_innermost(fault))
    if isinstance(fault, ReplyTooLongError):
        kind = NotAppliedError if reads else OutcomeUnknownError
        return kind(
            reason,
            where=where,
            remedy="ask for less, or set PINOT_MAX_REPLY_BYTES",
            http_status=None if fault.response is None else fault.response.status_code,
        )
    if _nothing_was_sent(fault):
        unreachable = UnreachableError(
            f"cannot connect: {reason}",
            where=where,
            remedy="check that the role is running and that the address is correct",
        )
        return TransientFailureError(unreachable, "no connection")
    if _handshake_failed(fault):
        return UnreachableError(
            f"TLS failed: {reason}",
            where=where,
            remedy="check the certificate authorities (ca_file), and that this port uses https",
        )
    if not isinstance(fault, _LINE_FAULTS):
        # The request could not even be made: an invalid address or header.
        return NotAppliedError(f"the request cannot be made: {reason}", where=where)
    what = "no response in time" if isinstance(fault, requests.Timeout) else "the connection broke"
    if reads:
        return TransientFailureError(NotAppliedError(f"{what}: {reason}", where=where), what)
    return OutcomeUnknownError(
        f"{what}, so it is unknown whether the call was applied: {reason}",
        where=where,
        remedy="read the state back before repeating the call",
    )


def _nothing_was_sent(fault: requests.RequestException) -> bool:
    if isinstance(fault, requests.exceptions.ConnectTimeout):
        return True
    return any(isinstance(cause, NewConnectionError) for cause in _causes(fault))


def _handshake_failed(fault: requests.RequestException) -> bool:
    # Other TLS errors may come after the request was sent.
    return any(
        isinstance(cause, ssl.SSLCertVerificationError)
        or (isinstance(cause, ssl.SSLError) and re.search("WRONG_VERSION|HANDSHAKE|ALERT", str(cause)))
        for cause in _causes(fault)
    )


def _causes(fault: BaseException) -> Iterator[BaseException]:
    """Yield an exception and the causes that requests and urllib3 wrapped in it."""
    current: object = fault
    while isinstance(current, BaseException):
        yield current
        if isinstance(current, MaxRetryError):
            current = current.reason
        else:
            current = next((arg for arg in current.args if isinstance(arg, BaseException)), None)


def _innermost(fault: BaseException) -> str:
    last = list(_causes(fault))[-1]
    # urllib3 puts the connection object before the text: "<...object at 0x7f>: Failed to ..."
    text = re.sub(r"^.*? object at 0x[0-9a-f]+>: |^\w+\(host=.*?\): ", "", str(last))
    return text or type(last).__name__
