"""Databases (Pinot 1.2 and later): the part of a table's or schema's name before its dot.

Calls for one table use its full name, ``sales.flights_OFFLINE``. Lists cover one database, which is given in
a header; default: the default database, whose names have no dot.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller_client.errors import AuthError
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.replies import parse_value
from controller_client.rest.transport import Transport

__all__ = ["list_everywhere"]

logger = logging.getLogger(__name__)

_HEADER = "Database"
_DEFAULT = "default"


def list_everywhere(
    transport: Transport,
    capabilities: Callable[[], Capabilities],
    path: str,
    *,
    key: str | None = None,
    params: Mapping[str, str | None] | None = None,
) -> Iterator[str]:
    """Request a list of names from each database that has a table, the default one first.

    Args:
        transport: The controller's.
        capabilities: Returns the cluster's capabilities.
        path: Path of the list.
        key: Key of the list in the response; None: the response is the list.
        params: Parameters of the request.

    Yields:
        The names in each list.
    """
    yield from transport.get_value(path, list, _names, key=key, params=params)
    if not capabilities().has(Capability.DATABASES):
        return
    try:
        databases = transport.get_value("/databases", list, _names)
    except AuthError as error:
        # Requires a separate permission; a user without it may still see tables.
        logger.warning("tables of databases other than the default one are not listed: %s", error.message)
        return
    for name in sorted(databases):
        if name.lower() != _DEFAULT:
            response = transport.request("GET", path, params=params, headers={_HEADER: name})
            yield from parse_value(response, list, _names, key=key, clean=transport.clean)


def _names(answer: list[Any]) -> list[str]:
    if not all(isinstance(name, str) for name in answer):
        raise TypeError("a name is not a text")
    return answer
