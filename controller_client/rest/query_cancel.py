"""Cancels a query through a broker, and reads from the response whether a server has it."""

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
    """Make a broker cancel a query on its servers.

    Args:
        transport: Transport to the broker.
        query_id: The broker's id of the query, or the sender's.
        by_sender: Whether it is the sender's id, i.e. the option ``clientQueryId`` (Pinot 1.4 or newer).
        retry: Retry policy; default: the configuration's.

    Returns:
        Whether a server has the query. False: no server has it yet, so it continues. In both cases the broker
        no longer lists it.

    Raises:
        NotFoundError: The broker is not, or no longer, running the query.
        UnsupportedError: The broker cannot cancel queries; the error names the setting.
        OutcomeUnknownError: The reply was lost; repeating the call does no harm.
    """
    params = {"verbose": "true", "client": "true" if by_sender else None}
    answer = transport.request("DELETE", path_of("query", query_id), params=params, retry=retry)
    replies = _OF_SERVERS.search(answer.content.decode(errors="replace"))
    return replies is None or "200" in _STATUS.findall(replies[1])
