"""Values of ``--param NAME=VALUE``, and which statement uses which of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from controller_client.errors import ConfigError

__all__ = ["params_of", "read_params"]


def read_params(pairs: Iterable[str]) -> dict[str, Any]:
    """Read repeated ``NAME=VALUE``.

    A value that is a JSON number, true, false, a quoted string or a list of these is parsed as JSON; anything
    else is text, unchanged.

    Raises:
        ConfigError: One has no ``=``, or a name appears twice.
    """
    params: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ConfigError(f"--param {pair!r} is not NAME=VALUE", expected="--param NAME=VALUE")
        if name in params:
            raise ConfigError(f"--param sets {name} twice")
        params[name] = _value(value)
    return params


def params_of(statements: Iterable[str], given: Mapping[str, Any]) -> list[dict[str, Any] | None]:
    """Return for each statement the parameters that it uses; None if none were given at all.

    Raises:
        ConfigError: One of them is used by no statement.
        QueryError: A statement's quotes or parentheses do not match.
    """
    if not given:
        return [None for _ in statements]
    from controller_client.broker.parameters import placeholders

    named = [placeholders(each) for each in statements]
    unused = sorted(given.keys() - frozenset().union(*named))
    if unused:
        raise ConfigError(
            f"--param {unused[0]}: the SQL has no placeholder :{unused[0]}",
            expected=", ".join(sorted(f":{name}" for names in named for name in names)) or "some :name in it",
        )
    return [{name: value for name, value in given.items() if name in names} for names in named]


def _value(text: str) -> Any:
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list):
        return text if any(_is_other(each) for each in value) else value
    return text if _is_other(value) else value


def _is_other(value: Any) -> bool:
    return value is None or isinstance(value, dict | list)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is text")
