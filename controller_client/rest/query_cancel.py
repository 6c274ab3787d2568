"""Asking a broker to end a query, and reading from its answer whether a server has it."""

from __future__ import annotations

import re

from controller_client.common.retry import RetryPolicy
from controller_client.rest.transport import Transport, path_of

__all__ = ["cancel_query"]

_OF_SERVERS = re.compile(r"responses from servers: \{(.*)\}", re.DOTALL)
_STATUS = re.compile(r"=\s*(\d{3})\b")


def cancel_query(
    transport: Transport, query_id: str, *, by_sender: bool = False, retry: RetryPolicy | None = None
) -> bool:
    """Have a broker tell its servers to end a query.

    Args:
        transport: To the broker.
        query_id: The broker's number of it, or what its sender named it.
        by_sender: Whether it is the latter: the option ``clientQueryId`` (Pinot 1.4 or newer).
        retry: Instead of the configuration's.

    Returns:
        Whether one of them has it. False: none has it yet, so it goes on. In both cases the broker no longer
        lists it.

    Raises:
        NotFoundError: The broker runs no such query, or no longer.
        UnsupportedError: It cannot end queries; the error names the setting.
        OutcomeUnknownError: The reply was lost; the same again does no harm.
    """
    params = {"verbose": "true", "client": "true" if by_sender else None}
    answer = transport.request("DELETE", path_of("query", query_id), params=params, retry=retry)
    told = _OF_SERVERS.search(answer.text)
    return told is None or "200" in _STATUS.findall(told[1])
