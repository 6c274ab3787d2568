"""References to variables and files in a text: ``${env:NAME}`` and ``${file:PATH}``.

``$${env:`` and ``$${file:`` stand for the literal text. The value of a reference is used literally, even if
it looks like a reference. Pinot has templates of its own, which are no references: see :func:`is_template`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from controller_client.common.redaction import masked
from controller_client.errors import ConfigError

__all__ = [
    "Lookup",
    "has_reference",
    "is_reference",
    "is_template",
    "literal",
    "misread_by_pinot",
    "only_names",
    "open_regular",
    "read_value",
    "replaced",
    "shown",
]

_REFERENCE = re.compile(r"\$?\$\{(env|file):([^}]*)\}")
_ONLY_REFERENCES = re.compile(r"\s*(?:\$\{(?:env|file):[^}]*\}\s*)+")
_TEMPLATE_WITHOUT_DEFAULT = re.compile(r"\$\{[^:{}]*\}")


class Lookup(Protocol):
    """Looks up the values of references; both methods raise `ConfigError`, which never contains a value."""

    def variable(self, name: str) -> str:
        """Return the value of a variable."""
        ...

    def file(self, path: str) -> str:
        """Return the content of a file."""
        ...


def has_reference(text: str) -> bool:
    """Whether a text contains a reference to a variable or a file."""
    return any(not found[0].startswith("$$") for found in _REFERENCE.finditer(text))


def is_reference(text: str) -> bool:
    """Whether a text consists only of references, so that it may be shown."""
    return _ONLY_REFERENCES.fullmatch(text) is not None


def is_template(text: str) -> bool:
    """Whether Pinot's roles replace a text of a table's config: ``${NAME}`` or ``${NAME:default}``."""
    return text.startswith("${") and text.endswith("}")


def only_names(text: str) -> bool:
    """Whether a text consists of references, or is a template without a default: it contains no value."""
    return is_reference(text) or _TEMPLATE_WITHOUT_DEFAULT.fullmatch(text) is not None


def misread_by_pinot(text: str) -> bool:
    """Whether Pinot takes a text with a reference for a template.

    It would replace ``${env:NAME}`` by its variable ``env``, or else by the template's default, ``NAME``. A
    blank before the reference prevents that.
    """
    return is_template(text) and text.startswith(("${env:", "${file:"))


def literal(text: str) -> str:
    """Escape a text so that nothing in it is a reference."""
    return _REFERENCE.sub(lambda found: f"${found[0]}", text)


def replaced(text: str, lookup: Lookup) -> str:
    """Return a text with its references replaced.

    Raises:
        ConfigError: A reference cannot be resolved.
    """

    def value(found: re.Match[str]) -> str:
        if found[0].startswith("$$"):
            return found[0][1:]
        source, name = found.groups()
        return lookup.variable(name) if source == "env" else lookup.file(name)

    return _REFERENCE.sub(value, text)


def shown(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings for display: secrets are masked; references and names of templates stay as written."""
    hidden = masked(settings)
    return {key: value.strip() if only_names(value) else hidden[key] for key, value in settings.items()}


def read_value(path: Path, name: str, max_bytes: int) -> str:
    """Read the file of a reference, without trailing line breaks.

    Args:
        path: Its path, with links resolved.
        name: Its name in the reference, for the error.
        max_bytes: Maximum size.

    Raises:
        ConfigError: It cannot be read, is not a regular file, is too large, or is not text.
    """
    try:
        with open(path, "rb", opener=open_regular) as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise ConfigError(f"the file {name} is larger than {max_bytes} bytes")
        return content.decode().rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"the file {name} cannot be read: {reason}") from None


def open_regular(path: str, flags: int) -> int:
    """Open a regular file, as the ``opener`` of :func:`open`; its path must have been resolved.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
    """
    # A pipe would block; a link can only have replaced the file since its path was resolved.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file")
