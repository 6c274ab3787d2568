"""References to variables and files in any text of a folder's files; see `common.references`.

The value of a reference never appears in a plan, a record or a message: documents are shown with the
references of their files, or else with masked secrets.
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
from controller_client.common.references import has_reference, literal, only_names, read_value, replaced
from controller_client.errors import ConfigError

__all__ = ["References", "hide", "secret_references"]

_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True)
class References:
    """Resolves a folder's references, to any variable and any file, since the folder is the user's own.

    Attributes:
        env: The environment.
        folder: The folder that relative paths start from.
    """

    env: Mapping[str, str]
    folder: Path

    def __repr__(self) -> str:
        return f"References(folder={str(self.folder)!r})"

    def resolve(self, document: Document, present: Document | None = None) -> Document:
        """Copy a document with its references replaced.

        Args:
            document: The document.
            present: The cluster's object: its values replace references that cannot be resolved.

        Raises:
            ConfigError: Variables are not set or files cannot be read; the error names all of them.
        """
        missing: dict[str, str] = {}

        def value(at: Pointer, text: str) -> Any:
            try:
                return replaced(text, self)
            except ConfigError as error:
                current = ABSENT if present is None else value_at(present, at)
                if current is not ABSENT:
                    return current
                missing.setdefault(error.message, pointer_text(at))
                return text

        found: Document = replace_texts(document, value)
        if missing:
            raise ConfigError(
                "; ".join(f"{message} (in {at})" for message, at in missing.items()),
                remedy="set what is missing, or pass --keep-unset to leave these fields as they are",
            )
        return found

    def variable(self, name: str) -> str:
        """Return the value of a variable.

        Raises:
            ConfigError: It is not set.
        """
        value = self.env.get(name)
        if value is None:
            raise ConfigError(f"the variable {name} is not set")
        return value

    def file(self, path: str) -> str:
        """Return the content of a file.

        Raises:
            ConfigError: It cannot be read, or is larger than 1 MiB.
        """
        return read_value(self.folder / Path(path).expanduser(), path, _MAX_BYTES)


def hide(document: Document, shown: Document | None = None) -> Document:
    """Copy a document with its secrets masked.

    Args:
        document: The cluster's document, or one with resolved references.
        shown: The document in the file: its texts with references replace the resolved texts.
    """

    def hidden(at: Pointer, text: str) -> str:
        written = ABSENT if shown is None else value_at(shown, at)
        if isinstance(written, str) and has_reference(written):
            return written
        if only_names(text):
            return text  # Pinot's roles or the processes of a task resolve it
        return MASK if at and is_secret(at[-1]) else mask_text(text)

    result: Document = replace_texts(document, hidden)
    return result


def secret_references(
    ref: ObjectRef, document: Document, taken: Iterable[str] = ()
) -> tuple[Document, dict[str, Pointer]]:
    """Copy a document for a file, with a reference instead of each secret.

    Args:
        ref: The document's object; the names of the variables start with its name.
        document: The cluster's document.
        taken: Names of variables that are already used.

    Returns:
        The copy, and the variables that it refers to, with their locations.
    """
    names: dict[str, Pointer] = {}
    used = set(taken)

    def written(at: Pointer, text: str) -> str:
        if not (at and is_secret(at[-1], text)) or not text or only_names(text):
            return literal(text)
        base = re.sub(r"[^A-Z0-9]+", "_", f"PINOT_{ref.name}_{at[-1]}".upper()).strip("_")
        name, number = base, 2
        while name in used:
            name, number = f"{base}_{number}", number + 1
        used.add(name)
        names[name] = at
        return f"${{env:{name}}}"

    return replace_texts(document, written), names
