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
from controller_client.rest.transport import Transport

__all__ = ["list_everywhere"]

logger = logging.getLogger(__name__)

_HEADER = "Database"
_DEFAULT = "default"


def list_everywhere(
    transport: Transport,
    capabilities: Callable[[], Capabilities],
    path: str,
    params: Mapping[str, str | None] | None = None,
) -> Iterator[Any]:
    """Request a list from each database that has a table, the default one first.

    Args:
        transport: The controller's.
        capabilities: Returns the cluster's capabilities.
        path: Path of the list.
        params: Parameters of the request.

    Yields:
        The response for each database.
    """
    yield transport.get_json(path, params=params)
    if not capabilities().has(Capability.DATABASES):
        return
    try:
        databases = transport.get_json("/databases")
    except AuthError as error:
        # Requires a separate permission; a user without it may still see tables.
        logger.warning("tables of databases other than the default one are not listed: %s", error.message)
        return
    for name in sorted(databases):
        if name.lower() != _DEFAULT:
            answer = transport.request("GET", path, params=params, headers={_HEADER: name})
            yield transport.json_of(answer)
