"""Determines which values of a document are secret: the one rule for what is shown, stored and exported.

A value is secret by its key or any key above it (a list ``passwords``, an object ``credentials``), or if a
secret can be recognized in it; see `common.redaction`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from controller_client.common.redaction import is_secret

__all__ = ["has_secret_key", "is_secret_field", "secret_fields"]

_BY_COLUMN = frozenset(
    {
        "bloomFilterConfigs",
        "columnPartitionMap",
        "jsonIndexConfigs",
        "noDictionaryConfig",
        "partialUpsertStrategies",
    }
)
"""Objects of Pinot's configs whose keys are columns: the values of a column ``token`` are no secrets."""


def has_secret_key(path: Sequence[str]) -> bool:
    """Return whether a key on the path to a value says that it is secret."""
    return any(is_secret(key) for above, key in pairwise(("", *path)) if above not in _BY_COLUMN)


def is_secret_field(path: Sequence[str], value: object) -> bool:
    """Return whether a value of a document must not be shown or stored.

    Args:
        path: The keys from the document's root to the value; indexes of lists as text.
        value: The value: only numbers, and texts that are not empty, can be secret.
    """
    if isinstance(value, str):
        return bool(value) and (has_secret_key(path) or is_secret("", value))
    return isinstance(value, int | float) and not isinstance(value, bool) and has_secret_key(path)


def secret_fields(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of a document's secret values."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from secret_fields(value, (*path, str(key)))
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from secret_fields(value, (*path, str(number)))
    elif is_secret_field(path, document):
        yield path
