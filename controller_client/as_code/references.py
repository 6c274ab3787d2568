"""References to variables and secrets: ``${env:NAME}`` and ``${file:PATH}`` in any text of a file.

``$${env:`` and ``$${file:`` stand for the text itself. What a reference stands for is in no plan, no record
and no message: a document is shown with the references that are in its file, and where it has none, with
its secrets masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller_client.as_code.fields import ABSENT, Pointer, pointer_text, replace_texts, value_at
from controller_client.as_code.objects import Document, ObjectRef
from controller_client.common.redaction import MASK, is_secret, mask_text
from controller_client.errors import ConfigError

__all__ = ["References", "has_reference", "hide", "literal", "secret_references"]

_REFERENCE = re.compile(r"\$?\$\{(env|file):([^}]*)\}")
_LITERAL = re.compile(r"(\$\{(?:env|file):)")
_LARGEST_BYTES = 1024 * 1024


def has_reference(text: str) -> bool:
    """Whether a text refers to a variable or a file."""
    return any(not found[0].startswith("$$") for found in _REFERENCE.finditer(text))


def literal(text: str) -> str:
    """Write a text so that nothing in it is a reference."""
    return _LITERAL.sub(r"$\1", text)


@dataclass(frozen=True)
class References:
    """Where references are looked up.

    Attributes:
        env: The environment.
        folder: Where relative paths begin.
    """

    env: Mapping[str, str]
    folder: Path

    def __repr__(self) -> str:
        return f"References(folder={str(self.folder)!r})"

    def resolve(self, document: Document, present: Document | None = None) -> Document:
        """Copy a document with its references replaced.

        Args:
            document: The document.
            present: What the cluster has: a reference to what is not set stands for the value there.

        Raises:
            ConfigError: A variable is not set or a file cannot be read; the error names all of them.
        """
        missing: dict[str, str] = {}

        def replaced(at: Pointer, text: str) -> Any:
            try:
                return self.text(text)
            except ConfigError as error:
                there = ABSENT if present is None else value_at(present, at)
                if there is not ABSENT:
                    return there
                missing.setdefault(error.message, pointer_text(at))
                return text

        found: Document = replace_texts(document, replaced)
        if missing:
            raise ConfigError(
                "; ".join(f"{message} (in {at})" for message, at in missing.items()),
                remedy="set what is missing, or pass --keep-unset to leave these fields as they are",
            )
        return found

    def text(self, text: str) -> str:
        """Return a text with its references replaced.

        Raises:
            ConfigError: A variable is not set, or a file cannot be read.
        """
        return _REFERENCE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        if found[0].startswith("$$"):
            return found[0][1:]
        source, name = found.groups()
        if source == "env":
            value = self.env.get(name)
            if value is None:
                raise ConfigError(f"the variable {name} is not set")
            return value
        path = self.folder / Path(name).expanduser()
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST_BYTES + 1)
            if len(content) > _LARGEST_BYTES:
                raise ConfigError(f"the file {name} is larger than {_LARGEST_BYTES} bytes")
            return content.decode().rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ConfigError(f"the file {name} cannot be read: {reason}") from None


def hide(document: Document, shown: Document | None = None) -> Document:
    """Copy a document with its secrets masked.

    Args:
        document: As the cluster has it, or with its references replaced.
        shown: As it is in its file: a text there that has a reference takes the place of what it stands for.
    """

    def hidden(at: Pointer, text: str) -> str:
        written = ABSENT if shown is None else value_at(shown, at)
        if isinstance(written, str) and has_reference(written):
            return written
        return MASK if at and is_secret(at[-1]) else mask_text(text)

    result: Document = replace_texts(document, hidden)
    return result


def secret_references(
    ref: ObjectRef, document: Document, taken: Iterable[str] = ()
) -> tuple[Document, dict[str, Pointer]]:
    """Copy a document with a reference in the place of each secret, for a file.

    Args:
        ref: Whose document it is; the variables' names begin with it.
        document: As the cluster has it.
        taken: Names of variables that others have.

    Returns:
        The copy, and the variables that it refers to with where they are.
    """
    names: dict[str, Pointer] = {}
    used = set(taken)

    def written(at: Pointer, text: str) -> str:
        if not (at and is_secret(at[-1], text)) or not text:
            return literal(text)
        base = re.sub(r"[^A-Z0-9]+", "_", f"PINOT_{ref.name}_{at[-1]}".upper()).strip("_")
        name, number = base, 2
        while name in used:
            name, number = f"{base}_{number}", number + 1
        used.add(name)
        names[name] = at
        return f"${{env:{name}}}"

    return replace_texts(document, written), names
