"""References to variables and files in a text: ``${env:NAME}`` and ``${file:PATH}``.

``$${env:`` and ``$${file:`` stand for the text itself. What a reference stands for is taken as it is: a
reference in it is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from controller_client.common.redaction import masked
from controller_client.errors import ConfigError

__all__ = ["Lookup", "has_reference", "is_reference", "literal", "read_value", "replaced", "shown"]

_REFERENCE = re.compile(r"\$?\$\{(env|file):([^}]*)\}")
_ONLY_REFERENCES = re.compile(r"\s*(?:\$\{(?:env|file):[^}]*\}\s*)+")


class Lookup(Protocol):
    """Where the values of references are; both methods raise `ConfigError`, without a value in it."""

    def variable(self, name: str) -> str:
        """Return the value of a variable."""
        ...

    def file(self, path: str) -> str:
        """Return the content of a file."""
        ...


def has_reference(text: str) -> bool:
    """Whether a text refers to a variable or a file."""
    return any(not found[0].startswith("$$") for found in _REFERENCE.finditer(text))


def is_reference(text: str) -> bool:
    """Whether a text is made of references alone, so that it may be shown."""
    return _ONLY_REFERENCES.fullmatch(text) is not None


def literal(text: str) -> str:
    """Write a text so that nothing in it is a reference."""
    return _REFERENCE.sub(lambda found: f"${found[0]}", text)


def replaced(text: str, lookup: Lookup) -> str:
    """Return a text with its references replaced.

    Raises:
        ConfigError: One cannot be resolved.
    """

    def value(found: re.Match[str]) -> str:
        if found[0].startswith("$$"):
            return found[0][1:]
        source, name = found.groups()
        return lookup.variable(name) if source == "env" else lookup.file(name)

    return _REFERENCE.sub(value, text)


def shown(settings: Mapping[str, str]) -> dict[str, str]:
    """Copy settings for showing: secrets are masked, and references stay as they are written."""
    hidden = masked(settings)
    return {key: value.strip() if is_reference(value) else hidden[key] for key, value in settings.items()}


def read_value(path: Path, name: str, max_bytes: int) -> str:
    """Read the file of a reference, without the line's end behind its text.

    Args:
        path: Where it is.
        name: What the reference calls it, for the error.
        max_bytes: A larger one is refused.

    Raises:
        ConfigError: It cannot be read, is too large, or is no text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise ConfigError(f"the file {name} is larger than {max_bytes} bytes")
        return content.decode().rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"the file {name} cannot be read: {reason}") from None
