"""What a local cluster has beside its ports: how its roles run, and with which properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.errors import ConfigError

__all__ = ["LocalClusterSettings", "properties_of", "read_properties"]

_PREFIXES = {
    "controller": ("controller.", "pinot.controller."),
    "broker": ("pinot.broker.",),
    "server": ("pinot.server.", "pinotPlugins."),
}


@dataclass(frozen=True)
class LocalClusterSettings:
    """Settings of a cluster.

    Attributes:
        hosted: Whether broker and servers are hosted in Python, with the hooks that are installed.
        properties: Further properties of controller, broker and servers.
        minion_heap_mb: Maximum Java heap of the minion, MiB.
    """

    hosted: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    minion_heap_mb: int = 512


def properties_of(role: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that a role reads, by the beginnings of their names.

    Args:
        role: Name of the role, e.g. ``server-1``.
        properties: Those of all roles.
    """
    prefixes = _PREFIXES.get(role.partition("-")[0])
    return {key: value for key, value in properties.items() if prefixes and key.startswith(prefixes)}


def read_properties(file: Path) -> dict[str, str]:
    """Read properties of controller, broker and servers from a file, one ``name=value`` a line.

    Raises:
        ConfigError: The file cannot be read, a line is not of that form, or no role reads the property.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the properties cannot be read: {error}", where=str(file)) from error
    properties: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals:
            raise ConfigError(
                f"line {number} is not a property: {line}", expected="name=value", where=str(file)
            )
        if not any(key.startswith(prefixes) for prefixes in _PREFIXES.values()):
            expected = ", ".join(prefix for prefixes in _PREFIXES.values() for prefix in prefixes)
            raise ConfigError(
                f"line {number}: no role of a local cluster reads {key}",
                expected=f"a name that begins with one of {expected}",
                where=str(file),
            )
        properties[key] = value
    return properties
