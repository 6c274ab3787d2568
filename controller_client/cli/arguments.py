"""What commands make of their arguments: a table's name with type, a JSON file, key=value pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from controller_client.errors import ConfigError, NotFoundError
from controller_client.table_names import TableType

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = ["key_values", "read_json_object", "table_with_type"]


def table_with_type(client: ControllerClient, name: str) -> str:
    """Complete ``flights`` to ``flights_OFFLINE`` where there is only one table of that name.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: There is an offline and a realtime table of that name.
    """
    if name.endswith(tuple(f"_{table_type}" for table_type in TableType)):
        if not client.tables.exists(name):
            raise NotFoundError(f"there is no table {name}", where=client.config.url)
        return name
    found = [f"{name}_{each}" for each in TableType if client.tables.exists(f"{name}_{each}")]
    if not found:
        raise NotFoundError(f"there is no table {name}", where=client.config.url)
    if len(found) > 1:
        raise ConfigError(f"there are two tables {name}", expected=f"one of {' and '.join(found)}")
    return found[0]


def read_json_object(file: TextIO) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises:
        ConfigError: It holds something else; the error names line and column.
    """
    try:
        document = json.load(file)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ConfigError(f"this is no JSON: {error}", where=file.name) from error
    if not isinstance(document, dict):
        raise ConfigError(
            f"the JSON is a {type(document).__name__}", expected="an object ({...})", where=file.name
        )
    return document


def key_values(pairs: Iterable[str], option: str) -> dict[str, str]:
    """Read repeated ``key=value`` options.

    Raises:
        ConfigError: One has no ``=``, or a key comes twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{option} {pair!r} cannot be read", expected=f"{option} key=value")
        if key.strip() in found:
            raise ConfigError(f"{option} gives {key.strip()} twice")
        found[key.strip()] = value.strip()
    return found
