"""Columns of a batch of messages: key parts, times, and whether Pinot stores their values.

Almost always, all values of a column have the same ordinary type and are checked as a whole. Values are
checked one by one only if there are other types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller_client.common.text import has_utf_8
from key_coordinator.reading.values import ALWAYS_STORED, is_stored, whole_number

__all__ = ["CheckedColumn", "KeyColumn", "TimeColumn"]

_LENGTH_BYTES = 4
_LIMITS = {"INT": (-(2**31), 2**31 - 1), "LONG": (-(2**63), 2**63 - 1)}
# Java writes numbers of these sizes as Python does, others with an exponent.
_PLAIN_FLOATS = (1e-3, 1e7)


@dataclass(frozen=True)
class KeyColumn:
    """A column of the key.

    Attributes:
        name: Its name.
        kind: Its data type.
        max_length: Of a STRING, in UTF-16 units: Pinot truncates longer ones.
    """

    name: str
    kind: str
    max_length: int = 512

    def parts(self, values: Sequence[object]) -> list[bytes | None]:
        """Return each value's part of its key; None if the row is not stored, or has no key.

        Values that are equal in Pinot give equal bytes, and the bytes of one value are never a prefix of
        another's, so joined parts of several columns are equal only if each part is.
        """
        kinds = set(map(type, values))
        if self.kind != "STRING":
            return self._whole_numbers(values, kinds)
        if kinds == {str}:
            texts: Sequence[object] = values
            longest = max(map(len, texts), default=0)  # type: ignore[arg-type]  # all are texts
            joined = "".join(texts)  # type: ignore[arg-type]
            if 2 * longest <= self.max_length and "\0" not in joined and has_utf_8(joined):
                return [_with_length(text.encode()) for text in texts]  # type: ignore[attr-defined]
        return [self._text(value) for value in values]

    def _whole_numbers(self, values: Sequence[object], kinds: set[type]) -> list[bytes | None]:
        if kinds == {int} and self.kind in _LIMITS and _are_within(values, self.kind):
            data = np.array(values, "<i8").tobytes()
            return [data[at : at + 8] for at in range(0, len(data), 8)]
        numbers = (None if value is None else whole_number(value, self.kind) for value in values)
        return [None if each is None else each.to_bytes(8, "little", signed=True) for each in numbers]

    def _text(self, value: object) -> bytes | None:
        """Return a string as Pinot stores it: truncated at the first NUL and to the column's length."""
        if type(value) is float:
            plain = _PLAIN_FLOATS[0] <= abs(value) < _PLAIN_FLOATS[1] or value == 0
            text = repr(value) if plain else None
        elif type(value) is bool:
            text = str(value).lower()
        else:
            text = str(value) if type(value) in (str, int) else None
        if text is None:
            return None
        text = text.partition("\0")[0]
        if 2 * len(text) > self.max_length:
            units = text.encode("utf-16-le", "surrogatepass")[: 2 * self.max_length]
            text = units.decode("utf-16-le", "surrogatepass")
        try:
            return _with_length(text.encode())
        except UnicodeEncodeError:  # half a surrogate pair: Java stores another character
            return None


@dataclass(frozen=True)
class TimeColumn:
    """The column that orders the records of a key.

    Attributes:
        name: Its name.
        kind: LONG or TIMESTAMP.
    """

    name: str
    kind: str

    def times(self, values: Sequence[object]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return milliseconds since 1970, and a mask of the valid ones."""
        if self.kind == "LONG" and set(map(type, values)) == {int} and _are_within(values, "LONG"):
            return np.array(values, np.int64), np.ones(len(values), bool)
        found = [None if value is None else whole_number(value, self.kind) for value in values]
        there = np.array([each is not None for each in found], bool)
        return np.array([each or 0 for each in found], np.int64), there


@dataclass(frozen=True)
class CheckedColumn:
    """A column that is neither in the key nor the time: a row is stored only if all of these are.

    Attributes:
        name: Its name.
        kind: Its data type.
        single: Whether it has one value per row.
    """

    name: str
    kind: str
    single: bool = True

    def refused(self, values: Sequence[object]) -> list[int]:
        """Return the positions of the values that Pinot does not store."""
        always = ALWAYS_STORED[self.kind]
        kinds = set(map(type, values))
        if all(kind in always for kind in kinds):
            return []
        if self.kind in _LIMITS and kinds == {int} and _are_within(values, "LONG"):
            return []
        return [
            at
            for at, value in enumerate(values)
            if type(value) not in always and not is_stored(value, self.kind, single=self.single)
        ]


def _are_within(numbers: Sequence[Any], kind: str) -> bool:
    low, high = _LIMITS[kind]
    return bool(low <= min(numbers) and max(numbers) <= high)


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH_BYTES, "little") + data
