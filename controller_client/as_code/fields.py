"""Differences between documents, field by field, as JSON pointers (RFC 6901)."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.parsing import whole_number

__all__ = [
    "ABSENT",
    "FieldChange",
    "Pointer",
    "by_name",
    "changes",
    "copy_fields",
    "leaves",
    "parse_pointer",
    "pointer_text",
    "replace_leaves",
    "replace_texts",
    "same",
    "value_at",
    "without_nulls",
]

Pointer = tuple[str, ...]
"""The keys from a document's root to a field; a number is an index in a list."""


class _Absent:
    """The value of a missing field."""

    def __repr__(self) -> str:
        return "(absent)"

    def __bool__(self) -> bool:
        return False


ABSENT: Any = _Absent()
"""The value of a missing field; null is a value."""


@dataclass(frozen=True)
class FieldChange:
    """A field that differs.

    Attributes:
        pointer: Its location.
        old: The cluster's value; :data:`ABSENT` for a new field.
        new: The wanted value; :data:`ABSENT` for a removed field.
    """

    pointer: Pointer
    old: Any
    new: Any

    @property
    def path(self) -> str:
        """The field as a JSON pointer, e.g. ``/tableIndexConfig/invertedIndexColumns``."""
        return pointer_text(self.pointer)


def pointer_text(pointer: Pointer) -> str:
    """Write a pointer as RFC 6901 does."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in pointer)


def parse_pointer(text: str) -> Pointer:
    """Read what :func:`pointer_text` wrote."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def changes(old: Any, new: Any) -> list[FieldChange]:
    """Return the fields in which two documents differ.

    Objects are compared key by key. Lists of objects with names (columns of a schema) are compared by name.
    Any other list is one field, and its order matters.
    """
    return list(_changes(old, new, ()))


def _changes(old: Any, new: Any, at: Pointer) -> Iterator[FieldChange]:
    if _both_objects(old, new):
        old, new = old or {}, new or {}
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _changes(old.get(key, ABSENT), new.get(key, ABSENT), (*at, key))
        return
    named_old, named_new = by_name(old), by_name(new)
    if named_old is not None and named_new is not None and (named_old or named_new):
        found = list(_changes(named_old, named_new, at))
        yield from found
        if not found and [*named_old] != [*named_new]:
            yield FieldChange(at, [*named_old], [*named_new])
        return
    if not same(old, new):
        yield FieldChange(at, old, new)


def _both_objects(old: Any, new: Any) -> bool:
    """Whether to compare two values key by key: also an added or removed object, unless it is empty."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return True
    return (old is ABSENT and isinstance(new, Mapping) and bool(new)) or (
        new is ABSENT and isinstance(old, Mapping) and bool(old)
    )


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def by_name(value: Any) -> dict[str, Any] | None:
    """Index a list of objects by their names; None for any other value."""
    if value is ABSENT:
        return {}
    if not isinstance(value, list) or not all(isinstance(item, Mapping) and "name" in item for item in value):
        return None
    named = {str(item["name"]): item for item in value}
    return named if len(named) == len(value) else None


def value_at(document: Any, pointer: Pointer) -> Any:
    """Return the value of a field; :data:`ABSENT` if it is missing.

    Items of a list are found by name if they have one, else by index.
    """
    for key in pointer:
        if isinstance(document, Mapping):
            document = document.get(key, ABSENT)
        elif isinstance(document, list):
            named = by_name(document) or {}
            index = whole_number(key)
            if key in named:
                document = named[key]
            elif index is not None and index < len(document):
                document = document[index]
            else:
                return ABSENT
        else:
            return ABSENT
    return document


def leaves(document: Any, at: Pointer = ()) -> Iterator[tuple[Pointer, Any]]:
    """Yield each value of a document that is neither an object nor a list, with its pointer."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from leaves(value, (*at, str(key)))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from leaves(value, (*at, str(index)))
    else:
        yield at, document


def replace_leaves(document: Any, replace: Callable[[Pointer, Any], Any], at: Pointer = ()) -> Any:
    """Copy a document, replacing each value that is neither an object nor a list; indexes are in pointers."""
    if isinstance(document, Mapping):
        return {key: replace_leaves(value, replace, (*at, str(key))) for key, value in document.items()}
    if isinstance(document, list):
        return [replace_leaves(value, replace, (*at, str(index))) for index, value in enumerate(document)]
    return replace(at, document)


def replace_texts(document: Any, replace: Callable[[Pointer, str], Any]) -> Any:
    """Copy a document, replacing each text with the result of a function."""
    return replace_leaves(document, lambda at, value: replace(at, value) if isinstance(value, str) else value)


def without_nulls(document: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a document without null fields, which Pinot treats as missing."""
    return {key: _without_nulls(value) for key, value in document.items() if value is not None}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_nulls(value)
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def copy_fields(source: Any, target: Any, patterns: list[Pointer]) -> Any:
    """Copy a document, taking the fields that match patterns from another document.

    Args:
        source: The document that has these fields; fields that it lacks are removed.
        target: The document to copy.
        patterns: Pointers; ``*`` matches any text within a key.
    """
    for pattern in patterns:
        target = _copied(source, target, pattern)
    return target


def _copied(source: Any, target: Any, pattern: Pointer) -> Any:
    if not pattern:
        return source
    present = source if isinstance(source, Mapping) else {}
    result = dict(target) if isinstance(target, Mapping) else {}
    for key in {*present, *result}:
        if fnmatch.fnmatchcase(str(key), pattern[0]):
            value = _copied(present.get(key, ABSENT), result.get(key, ABSENT), pattern[1:])
            if value is ABSENT or (len(pattern) > 1 and not value and key not in result):
                result.pop(key, None)
            else:
                result[key] = value
    return result if result or target is not ABSENT else target
