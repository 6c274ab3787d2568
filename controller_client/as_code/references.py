"""References to variables and files in any text of a folder's files; see `common.references`.

The value of a reference never appears in a plan, a record or a message. Until a plan is applied, even the
cluster gets only a placeholder for it: a *draft* is a document with placeholders. What the cluster answers
about a draft is shown with references again, wherever Pinot has moved their texts.
"""

from __future__ import annotations

import copy
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller_client.as_code.fields import ABSENT, Pointer, pointer_text, replace_texts, value_at
from controller_client.as_code.objects import Document
from controller_client.common.operator_secrets import OperatorSecrets, UnsetError, observed
from controller_client.common.redaction import Redactor
from controller_client.common.references import Lookup, replaced
from controller_client.errors import ConfigError, PinotPluginError

__all__ = ["References"]

_PLAIN = re.compile(r"(?i:true|false)|-?[0-9]{1,7}(?:\.[0-9]{1,4})?[A-Za-z]{0,2}")
"""A switch, a number, a size or a period: it is no secret, and Pinot reads it in fields that are not text."""
_SHORTEST_SECRET = 4


class References:
    """Resolves a folder's references, as far as the operator of this process allows; remembers the values.

    Args:
        env: The environment, with the operator's settings; see `common.operator_secrets`.
        folder: The folder. Files are read from it, unless the operator has set another one for them.
        prefixes: Further prefixes of variables that the operator allows.
    """

    def __init__(self, env: Mapping[str, str], folder: Path, prefixes: Sequence[str] = ()) -> None:
        self._lookup: Lookup = OperatorSecrets(env, prefixes=prefixes, folder=folder)
        nonce = secrets.token_hex(6)
        self._placeholder = f"REFERENCE{nonce}N{{}}E"
        self._is_placeholder = re.compile(rf"REFERENCE{nonce}N([0-9]+)E", re.IGNORECASE)
        self._resolved: list[_Resolved] = []
        self._numbers: dict[_Resolved, int] = {}
        self._redact: Redactor | None = None

    def __repr__(self) -> str:
        return f"References({self._lookup!r})"

    @classmethod
    def without_values(cls, folder: Path) -> References:
        """Return references none of which has a value here."""
        references = cls({}, folder)
        references._lookup = _NoValues()
        return references

    def resolve(self, document: Document, present: Document | None = None) -> Document:
        """Copy a document with its references replaced; see :meth:`draft`."""
        return self.fill(self.draft(document, present))

    def draft(
        self, document: Document, present: Document | None = None, prefixes: Sequence[str] = ()
    ) -> Document:
        """Copy a document with a placeholder for each value of a reference.

        Args:
            document: The document.
            present: The cluster's object: its values replace references that have no value here.
            prefixes: Prefixes of the variables to which the folder restricts itself; empty: no restriction.

        Raises:
            ConfigError: References are not allowed or have no value; the error names all of them.
        """
        faults: dict[str, str] = {}
        remedies: list[str] = []
        lookup = _Drafting(self, self._lookup, tuple(prefixes))

        def value(at: Pointer, text: str) -> Any:
            try:
                return replaced(text, lookup)
            except ConfigError as error:
                is_unset = isinstance(error, UnsetError)
                current = ABSENT if present is None or not is_unset else value_at(present, at)
                if current is not ABSENT:
                    return self.hold(observed(current), text) if isinstance(current, str) else current
                expected = f": expected {error.expected}" if error.expected else ""
                faults.setdefault(f"{error.message}{expected}", pointer_text(at))
                if not is_unset and error.remedy:
                    remedies.append(error.remedy)
                return text

        draft: Document = replace_texts(document, value)
        if faults:
            unset = "set what is missing, or pass --keep-unset to leave these fields as they are"
            raise ConfigError(
                "; ".join(f"{message} (in {at})" for message, at in faults.items()),
                remedy=remedies[0] if remedies else unset,
            )
        return draft

    def hold(self, value: str, written: str) -> str:
        """Return a placeholder for a value; a switch or a number stays as it is.

        Args:
            value: The value.
            written: The text with the reference, to be shown instead.
        """
        if _PLAIN.fullmatch(value):
            return value
        resolved = _Resolved(value, written)
        if resolved not in self._numbers:
            self._numbers[resolved] = len(self._resolved)
            self._resolved.append(resolved)
            self._redact = None
        return self._placeholder.format(self._numbers[resolved])

    def fill(self, draft: Document) -> Document:
        """Copy a draft with the values."""
        return self._replaced(draft, lambda resolved: resolved.value)

    def show(self, draft: Document) -> Document:
        """Copy a draft with the references, as they were written."""
        return self._replaced(draft, lambda resolved: resolved.written)

    def clean(self, text: str) -> str:
        """Return a text without values, and with references instead of placeholders."""
        text = self._is_placeholder.sub(lambda found: self._resolved[int(found[1])].written, text)
        if self._redact is None:
            self._redact = Redactor(
                each.value for each in self._resolved if len(each.value) >= _SHORTEST_SECRET
            )
        return self._redact(text) if self._resolved else text

    @contextmanager
    def kept_from_errors(self) -> Iterator[None]:
        """Mask the values in errors that leave the block."""
        try:
            yield
        except PinotPluginError as error:
            if not self._resolved:
                raise
            cleaned = copy.copy(error)
            for name, value in vars(error).items():
                if isinstance(value, str):
                    setattr(cleaned, name, self.clean(value))
            cleaned.args = tuple(self.clean(each) if isinstance(each, str) else each for each in error.args)
            raise cleaned from None

    def _replaced(self, draft: Document, text_of: Callable[[_Resolved], str]) -> Document:
        def text(_at: Pointer, drafted: str) -> str:
            return self._is_placeholder.sub(lambda found: text_of(self._resolved[int(found[1])]), drafted)

        found: Document = replace_texts(draft, text)
        return found


@dataclass(frozen=True, repr=False)
class _Resolved:
    """A value, and the reference that has it."""

    value: str
    written: str


@dataclass(frozen=True)
class _Drafting:
    """A lookup of placeholders."""

    references: References
    lookup: Lookup
    prefixes: tuple[str, ...]

    def variable(self, name: str) -> str:
        value = self.lookup.variable(name)
        if self.prefixes and not name.startswith(self.prefixes):
            raise ConfigError(
                f"the folder's references may not use the variable {name}",
                expected=f"a name that starts with {' or '.join(self.prefixes)}",
                remedy="rename the variable, or change 'secrets' in cluster.yaml",
            )
        return self.references.hold(value, f"${{env:{name}}}")

    def file(self, path: str) -> str:
        return self.references.hold(self.lookup.file(path), f"${{file:{path}}}")


class _NoValues:
    """A lookup in which nothing has a value."""

    def variable(self, name: str) -> str:
        raise UnsetError(f"the variable {name} is not set")

    def file(self, path: str) -> str:
        raise UnsetError(f"the file {path} is missing")
