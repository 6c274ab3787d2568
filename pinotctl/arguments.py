"""Parsing of command arguments: names, numbers, files, key=value pairs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = [
    "check_values",
    "key_values",
    "read_json_object",
    "read_stdin",
    "read_text",
    "table_with_type",
]

_DEEPEST = 100
"""Levels of a JSON document; Pinot's own have fewer than ten."""

_GREATEST_NUMBER = 1e9
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


class _Checked:
    """Runs the checks that apply to every parameter, then calls the parameter's own callback."""

    def __init__(self, callback: Callable[..., Any] | None) -> None:
        self._callback = callback

    def __call__(self, ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, float) and not abs(item) <= _GREATEST_NUMBER:
                message = f"{item} is not a number up to {_GREATEST_NUMBER:,.0f}."
                raise click.BadParameter(message, ctx, parameter)
            is_text = isinstance(item, str) and isinstance(parameter.type, click.types.StringParamType)
            if is_text and _NO_TEXT.search(item):
                raise click.BadParameter(
                    f"{item!r} contains a character that is not valid text.", ctx, parameter
                )
        return value if self._callback is None else self._callback(ctx, parameter, value)


def check_values(command: click.Command) -> click.Command:
    """Make a command and its subcommands refuse values that no command can use.

    These are texts that contain a NUL or bytes that are not UTF-8, and numbers that are NaN or infinite. File
    names may contain such bytes; their parameters have other types.
    """
    for parameter in command.params:
        if not isinstance(parameter.callback, _Checked):
            parameter.callback = _Checked(parameter.callback)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            check_values(below)
    return command


def table_with_type(client: ControllerClient, name: str) -> TableName:
    """Complete ``flights`` to ``flights_OFFLINE`` if only one table has that name.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: There are both an offline and a realtime table of that name.
    """
    given = TableName.parse(name)
    if given is not None:
        if not client.tables.exists(given):
            raise client.tables.unknown(given)
        return given
    tables = [table for each in TableType if client.tables.exists(table := TableName.of(name, each))]
    if not tables:
        raise client.tables.unknown(name)
    if len(tables) > 1:
        raise ConfigError(f"there are two tables named {name}", expected=f"{' or '.join(tables)}")
    return tables[0]


def read_json_object(file: TextIO) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises:
        ConfigError: It contains something else; the error names line and column.
    """
    try:
        document = json.load(file, parse_constant=_refuse_constant)
        _check_depth(document)
    except RecursionError:
        raise ConfigError(
            "the JSON is nested too deeply",
            expected=f"at most {_DEEPEST} levels of objects and lists",
            where=file.name,
        ) from None
    except (OSError, ValueError) as error:  # of the text's encoding, of JSON, of a number
        raise ConfigError(f"this is not valid JSON: {error}", where=file.name) from error
    if not isinstance(document, dict):
        raise ConfigError(
            f"the JSON is a {type(document).__name__}", expected="an object ({...})", where=file.name
        )
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _check_depth(document: Any) -> None:
    level = [document]
    for _ in range(_DEEPEST):
        level = [
            item
            for each in level
            if isinstance(each, (dict, list))
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise RecursionError


def read_text(path: str | Path) -> str:
    """Read a text file that an option names.

    Raises:
        ConfigError: It cannot be read, or is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"the file cannot be read: {reason}", where=str(path)) from error


def read_stdin() -> str:
    """Read all of standard input.

    Raises:
        ConfigError: It is not text in the locale's encoding.
    """
    try:
        return sys.stdin.read()
    except ValueError as error:
        raise ConfigError(f"standard input is not text: {error}") from error


def key_values(pairs: Iterable[str], option: str) -> dict[str, str]:
    """Read repeated ``KEY=VALUE`` options.

    Raises:
        ConfigError: One has no ``=``, or a key appears twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{option} {pair!r} is not KEY=VALUE", expected=f"{option} KEY=VALUE")
        if key.strip() in values:
            raise ConfigError(f"{option} sets {key.strip()} twice")
        values[key.strip()] = value.strip()
    return values
