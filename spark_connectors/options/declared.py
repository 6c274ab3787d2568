"""Declares options as dataclass fields, parses them from Spark's map and documents them.

Options of Pinot's Scala connector are accepted under their own names, but for those not supported here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from controller_client.errors import ConfigError

__all__ = ["Declared", "declared", "instead_of", "option", "option_table", "parse_options", "prefixed"]


_TRUST = "set 'tlsCaFile' to the certificates of the authorities (PEM)"

_KEYS = "set 'tlsClientCertFile' and 'tlsClientKeyFile' to the certificate and its key (PEM)"

_FORMAT = "remove it: dates and timestamps become TIMESTAMP; for another format, create the table yourself"

_PROXY = "remove it: controller, brokers and servers must be reachable directly"

_INSTEAD = {
    "authheader": "remove it: the token is sent in the header Authorization",
    "grpc.max-inbound-message-size": "remove it: there is no limit",
    "grpc.port": "remove it: the port of each server is read from ZooKeeper",
    "grpc.proxy-uri": _PROXY,
    "grpc.tls.keystore-password": _KEYS,
    "grpc.tls.keystore-path": _KEYS,
    "grpc.tls.keystore-type": _KEYS,
    "grpc.tls.ssl-provider": "remove it",
    "grpc.tls.truststore-password": _TRUST,
    "grpc.tls.truststore-path": _TRUST,
    "grpc.tls.truststore-type": _TRUST,
    "keystorepassword": _KEYS,
    "keystorepath": _KEYS,
    "proxy.enabled": _PROXY,
    "segmentnameformat": "remove it: segment names show the write and the attempt that they belong to",
    "timeformat": _FORMAT,
    "timegranularity": _FORMAT,
    "truststorepassword": _TRUST,
    "truststorepath": _TRUST,
}


def instead_of(name: str) -> str | None:
    """Describe the alternative to an option; None if the Scala connector has no such option."""
    return _INSTEAD.get(name.lower())


T = TypeVar("T")

_KEY = "option"

# Options that Spark itself adds; CREATE TABLE adds the last two, and a copy of each option.
_SPARK_OWN = frozenset({"path", "checkpointlocation", "provider", "owner"})

_SPARK_COPIES = "option."


@dataclass(frozen=True)
class Declared:
    """One option as users see it.

    Attributes:
        name: As users write it; option names in Spark are case-insensitive.
        parse: Parses the text; raises ValueError with what it expected.
        doc: One sentence for the documentation.
        shown_default: The default shown in the documentation.
        aliases: Other names, including those of Pinot's Scala connector.
        is_prefix: Whether all options with this prefix are collected, without it, in one map.
        keys: Known keys of that map in their usual spelling; Spark passes names in lower case.
    """

    name: str
    parse: Callable[[str], Any]
    doc: str
    shown_default: str
    aliases: tuple[str, ...] = ()
    is_prefix: bool = False
    keys: tuple[str, ...] = ()


def option(
    name: str,
    parse: Callable[[str], Any],
    doc: str,
    *,
    default: Any = MISSING,
    shown_default: str | None = None,
    aliases: Iterable[str] = (),
    secret: bool = False,
) -> Any:
    """Declare an option as a dataclass field; an option without a default is required."""
    shown = shown_default if shown_default is not None else _shown(default)
    made = Declared(name, parse, doc, shown, tuple(aliases))
    return field(default=default, metadata={_KEY: made}, repr=not secret, kw_only=True)


def prefixed(name: str, doc: str, *, keys: Iterable[str] = (), secret: bool = True) -> Any:
    """Declare all options with the prefix `name` as one map; it is not shown if it may contain secrets."""
    made = Declared(name, str, doc, "", is_prefix=True, keys=tuple(keys))
    return field(default_factory=dict, metadata={_KEY: made}, repr=not secret, kw_only=True)


def declared(cls: type) -> list[tuple[str, Declared]]:
    """Return the options of a dataclass as pairs of attribute and option."""
    return [(each.name, each.metadata[_KEY]) for each in fields(cls) if _KEY in each.metadata]


def parse_options(cls: type[T], options: Mapping[str, str]) -> T:
    """Parse Spark's options into a frozen dataclass.

    Args:
        cls: A dataclass whose fields are declared by :func:`option` and :func:`prefixed`.
        options: As passed by Spark; names in any case.

    Raises:
        ConfigError: A name is unknown (the error lists the nearest one and all valid ones), an option is set
            under two names, a value is invalid, or a required option is missing.
    """
    declarations = declared(cls)
    by_name = {
        name.lower(): (attribute, declaration)
        for attribute, declaration in declarations
        if not declaration.is_prefix
        for name in (declaration.name, *declaration.aliases)
    }
    prefixes = [(attribute, declaration) for attribute, declaration in declarations if declaration.is_prefix]
    values: dict[str, Any] = {}
    given_as: dict[str, str] = {}
    for name, text in options.items():
        lowered = name.lower()
        if lowered in by_name:
            attribute, declaration = by_name[lowered]
            if attribute in given_as:
                raise ConfigError(
                    f"{given_as[attribute]!r} and {name!r} are the same option", remedy="set only one of them"
                )
            given_as[attribute] = name
            values[attribute] = _parsed(name, declaration, text)
            continue
        for attribute, declaration in prefixes:
            if lowered.startswith(declaration.name.lower()):
                key = name[len(declaration.name) :]
                known_keys = {known_key.lower(): known_key for known_key in declaration.keys}
                values.setdefault(attribute, {})[known_keys.get(key.lower(), key)] = text
                break
        else:
            if lowered not in _SPARK_OWN and not lowered.startswith(_SPARK_COPIES):
                raise _unknown(name, declarations)
    missing = [
        declaration.name
        for attribute, declaration in declarations
        if attribute not in values and not declaration.is_prefix and declaration.shown_default == _REQUIRED
    ]
    if missing:
        raise ConfigError(
            f"the option {missing[0]!r} is missing",
            expected=f'.option("{missing[0]}", …)',
            remedy=None if values else _LOST,
        )
    return cls(**values)


def option_table(cls: type) -> str:
    """Return the options as a Markdown table."""
    lines = ["| option | default | meaning |", "| --- | --- | --- |"]
    for _, entry in declared(cls):
        name = f"{entry.name}*" if entry.is_prefix else entry.name
        also = f" Alias: {', '.join(f'`{alias}`' for alias in entry.aliases)}." if entry.aliases else ""
        default = (
            entry.shown_default if entry.shown_default in ("", _REQUIRED) else f"`{entry.shown_default}`"
        )
        lines.append(f"| `{name}` | {default} | {entry.doc}{also} |")
    return "\n".join(lines) + "\n"


_REQUIRED = "required"

_LOST = (
    "Spark does not pass the options of a table in its catalog (CREATE TABLE … USING pinot, saveAsTable):"
    " create a TEMPORARY VIEW instead, or use DataFrames"
)


def _shown(default: Any) -> str:
    if default is MISSING:
        return _REQUIRED
    if default is None:
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _parsed(name: str, each: Declared, text: str) -> Any:
    try:
        return each.parse(text)
    except ValueError as error:
        # The value is not shown: it may be a secret under the wrong name.
        raise ConfigError(f"the value of the option {name!r} is invalid", expected=str(error)) from None


def _unknown(name: str, declarations: list[tuple[str, Declared]]) -> ConfigError:
    instead = instead_of(name)
    if instead is not None:
        return ConfigError(
            f"the option {name!r} of Pinot's Scala connector is not supported here", remedy=instead
        )
    names = [f"{each.name}*" if each.is_prefix else each.name for _, each in declarations]
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=1)
    hint = next((f", did you mean {each!r}?" for each in names if near and each.lower() == near[0]), "")
    return ConfigError(f"unknown option {name!r}{hint}", expected=", ".join(sorted(names)))
