"""Documents without secrets: masked, to be shown and recorded, or with references, to be committed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from controller_client.as_code.fields import ABSENT, Pointer, replace_leaves, value_at
from controller_client.as_code.objects import Document, Kind, ObjectRef
from controller_client.common.operator_secrets import DEFAULT_PREFIX
from controller_client.common.parsing import whole_number
from controller_client.common.redaction import MASK, mask_text
from controller_client.common.references import has_reference, literal, only_names
from controller_client.common.secret_fields import has_secret_key, is_secret_field
from controller_client.consumption.recipes.stream_change import KEPT_SECRETS

__all__ = ["BOOKKEEPING", "hide", "is_unfinished", "secret_references"]

BOOKKEEPING: Pointer = ("metadata", "customConfigs", KEPT_SECRETS)
"""Where a table has the old secrets of a stream change that is not finished: no state that anybody wants."""


def hide(document: Document, shown: Document | None = None, *, old: bool = False) -> Document:
    """Copy a document with its secrets masked.

    Args:
        document: The cluster's document, or one with resolved references.
        shown: The document in the file: its texts with references replace the resolved texts.
        old: The document is not the one in the file: where that has a reference, the value is masked.
    """

    def hidden(at: Pointer, value: Any) -> Any:
        written = ABSENT if shown is None else value_at(shown, at)
        if isinstance(written, str) and has_reference(written):
            return MASK if old else written
        if at == BOOKKEEPING:
            return MASK
        if isinstance(value, str) and only_names(value):
            return value  # Pinot's roles or the processes of a task resolve it
        if not is_secret_field(at, value):
            return value
        return MASK if has_secret_key(at) else mask_text(value)

    result: Document = replace_leaves(document, hidden)
    return result


def is_unfinished(ref: ObjectRef, document: Document) -> bool:
    """Whether an object is a table whose stream is being changed."""
    return ref.kind is Kind.TABLE and value_at(document, BOOKKEEPING) is not ABSENT


def secret_references(
    ref: ObjectRef, document: Document, taken: Iterable[str] = (), prefix: str = DEFAULT_PREFIX
) -> tuple[Document, dict[str, Pointer]]:
    """Copy a document for a file, with a reference instead of each secret, and without bookkeeping.

    Args:
        ref: The document's object; the names of the variables contain its name.
        document: The cluster's document.
        taken: Names of variables that are already used.
        prefix: Start of the names of the variables.

    Returns:
        The copy, and the variables that it refers to, with their locations.
    """
    names: dict[str, Pointer] = {}
    used = set(taken)

    def written(at: Pointer, value: Any) -> Any:
        if not is_secret_field(at, value) or (isinstance(value, str) and only_names(value)):
            return literal(value) if isinstance(value, str) else value
        words = "_".join(at[-2:] if whole_number(at[-1]) is not None else at[-1:])
        base = prefix + re.sub(r"[^A-Z0-9]+", "_", f"{ref.name}_{words}".upper()).strip("_")
        name, number = base, 2
        while name in used:
            name, number = f"{base}_{number}", number + 1
        used.add(name)
        names[name] = at
        return f"${{env:{name}}}"

    return replace_leaves(_without_bookkeeping(ref, document), written), names


def _without_bookkeeping(ref: ObjectRef, document: Document) -> Document:
    if not is_unfinished(ref, document):
        return document
    metadata = document["metadata"]
    custom = {key: value for key, value in metadata["customConfigs"].items() if key != KEPT_SECRETS}
    return {**document, "metadata": {**metadata, "customConfigs": custom}}
