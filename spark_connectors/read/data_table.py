"""Decodes Pinot's DataTable, the format of servers' answers, column by column into Arrow.

Versions 3 and 4 (org.apache.pinot.core.common.datatable) consist of a header of 13 big-endian ints (version,
rows, columns, then start and length of five sections: exceptions, string dictionary, schema, fixed-size
values row by row, variable-size values), the sections, and the metadata with its length. Differences:

=============  ==================================  =====================================
               version 3                           version 4
=============  ==================================  =====================================
strings        a dictionary for each column        one dictionary for all columns
FLOAT          4 bytes in a slot of 8              4 bytes
BYTES          hexadecimal text, as a string,      bytes in the section of variable-size
               in a slot of 8 bytes                values
=============  ==================================  =====================================
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from controller_client.errors import PinotPluginError

__all__ = ["DataTable", "decode", "plain_decimal"]

_INT = struct.Struct(">i")
_PAIR = struct.Struct(">2i")
_LONG = struct.Struct(">q")
_HEADER = struct.Struct(">13i")
_VERSIONS = (3, 4)
_VERSION_BITS = 0x1F  # the higher bits in version 4 are the kind of layout; 0 is row-based

# Metadata keys by id, as far as they are used; the others are skipped according to their kind.
_KEYS = {
    2: "numDocsScanned",
    5: "numSegmentsQueried",
    6: "numSegmentsProcessed",
    8: "numConsumingSegmentsQueried",
    20: "numSegmentsPrunedByServer",
    21: "numSegmentsPrunedByInvalid",
}
_INT_KEYS = frozenset({5, 6, 7, 8, 15, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29})
_LONG_KEYS = frozenset({2, 3, 4, 9, 10, 12, 14, 16, 17, 18, 19, 30, 32, 33, 36, 37})
_TEXT_KEYS = frozenset({0, 1, 11, 13, 31, 34, 35, 39, 40, 41, 42, 43, 44})

_STORED = {"BOOLEAN": "INT", "TIMESTAMP": "LONG", "JSON": "STRING"}
_NUMBERS = {"INT": ">i4", "LONG": ">i8", "FLOAT": ">f4", "DOUBLE": ">f8"}
_PLACE = np.dtype([("at", ">i4"), ("length", ">i4")])


@dataclass(frozen=True)
class DataTable:
    """A decoded DataTable.

    Attributes:
        rows: Number of rows.
        columns: By position. BOOLEAN is bool, TIMESTAMP int64 (epoch milliseconds), BYTES binary, BIG_DECIMAL
            text without an exponent; multi-values are lists; other types are as their names suggest.
        exceptions: Pinot's error codes and messages.
        metadata: Numbers that the server reports about the query.
    """

    rows: int
    columns: tuple[pa.Array, ...]
    exceptions: Mapping[int, str] = field(default_factory=dict)
    metadata: Mapping[str, int] = field(default_factory=dict)


def decode(payload: bytes) -> DataTable:
    """Decode a server's payload.

    Raises:
        PinotPluginError: The payload is not a DataTable of version 3 or 4.
    """
    try:
        return _decode(payload)
    except (struct.error, ValueError, IndexError, KeyError, pa.ArrowException) as error:
        raise PinotPluginError(
            f"a server's answer cannot be decoded: {error}", expected="a complete DataTable, version 3 or 4"
        ) from error


def _decode(payload: bytes) -> DataTable:
    version, rows, _, *places = _HEADER.unpack_from(payload)
    if version & _VERSION_BITS not in _VERSIONS or version > _VERSION_BITS:
        raise PinotPluginError(
            f"a server answered with version {version} of Pinot's DataTable",
            expected="version 3 or 4, row-based",
        )
    exceptions, dictionary, schema, fixed, variable = ((places[2 * n], places[2 * n + 1]) for n in range(5))
    types = _schema(payload, *schema) if schema[1] else []
    columns: tuple[pa.Array, ...] = ()
    if rows:
        strings = _dictionaries(payload, *dictionary, version) if dictionary[1] else {}
        columns = _Columns(payload, version, rows, types, strings, fixed, variable).all()
    return DataTable(
        rows,
        columns,
        _exceptions(payload, *exceptions) if exceptions[1] else {},
        _metadata(payload, sum(variable)),
    )


class _Columns:
    """The two sections with values."""

    def __init__(
        self,
        payload: bytes,
        version: int,
        rows: int,
        types: list[tuple[str, str]],
        strings: Mapping[str, pa.Array],
        fixed: tuple[int, int],
        variable: tuple[int, int],
    ) -> None:
        self._version = version
        self._types = types
        self._strings = strings
        dtype = _row_type([kind for _, kind in types], version)
        self._rows = np.frombuffer(payload, dtype, count=rows, offset=fixed[0])
        self._variable = np.frombuffer(payload, np.uint8, count=variable[1], offset=variable[0])

    def all(self) -> tuple[pa.Array, ...]:
        return tuple(self._column(n, name, kind) for n, (name, kind) in enumerate(self._types))

    def _column(self, number: int, name: str, kind: str) -> pa.Array:
        cells = self._rows[str(number)]
        if kind.endswith("_ARRAY"):
            return self._arrays(cells, name, kind.removesuffix("_ARRAY"))
        stored = _STORED.get(kind, kind)
        if stored in _NUMBERS:
            return _typed(pa.array(_native(cells)), kind)
        if stored == "STRING":
            return self._texts(name, _native(cells))
        if kind == "BYTES":
            return self._hex(name, _native(cells)) if self._version == 3 else self._binary(cells)
        if kind == "BIG_DECIMAL":
            parts = self._binary(cells).to_pylist()
            return pa.array([_decimal_text(part) for part in parts], pa.string())
        raise ValueError(f"column {name} has the unknown type {kind}")

    def _arrays(self, cells: Any, name: str, kind: str) -> pa.Array:
        lengths, offsets = self._lengths(cells)
        stored = _STORED.get(kind, kind)
        number = _NUMBERS.get(stored, ">i4")  # a string is an id of the dictionary
        width = int(number[-1])
        # First the start of each element, then the bytes of all elements at once.
        begins = np.repeat(_native(cells["at"]).astype(np.int64) - offsets[:-1] * width, lengths)
        begins += np.arange(int(offsets[-1]), dtype=np.int64) * width
        flat = _native(self._variable[begins[:, None] + np.arange(width)].view(number).reshape(-1))
        if stored in _NUMBERS:
            values = _typed(pa.array(flat), kind)
        elif kind == "BYTES":
            values = self._hex(name, flat)
        elif stored == "STRING":
            values = self._texts(name, flat)
        else:
            raise ValueError(f"column {name} has the unknown type {kind}_ARRAY")
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)

    def _binary(self, cells: Any) -> pa.Array:
        lengths, offsets = self._lengths(cells)
        begins = np.repeat(_native(cells["at"]).astype(np.int64) - offsets[:-1], lengths)
        data = self._variable[begins + np.arange(int(offsets[-1]), dtype=np.int64)]
        large = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        return large.cast(pa.binary())

    def _lengths(self, cells: Any) -> tuple[Any, Any]:
        """Return the lengths of cells, and the offsets of their values when they follow each other."""
        lengths = _native(cells["length"])
        offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        # Each has values of its own, so more of them are in no answer.
        if len(lengths) and (lengths.min() < 0 or offsets[-1] > len(self._variable)):
            raise ValueError("the lengths of values are wrong")
        return lengths, offsets

    def _texts(self, name: str, ids: Any) -> pa.Array:
        return self._words(name).take(pa.array(ids)).cast(pa.string())

    def _hex(self, name: str, ids: Any) -> pa.Array:
        words = pa.array(
            [bytes.fromhex(word.decode()) for word in self._words(name).to_pylist()], pa.binary()
        )
        return words.take(pa.array(ids))

    def _words(self, name: str) -> pa.Array:
        return self._strings[name if self._version == 3 else ""]


def _row_type(kinds: list[str], version: int) -> np.dtype[Any]:
    formats: list[Any] = []
    offsets = []
    at = 0
    for kind in kinds:
        stored = _STORED.get(kind, kind)
        form: Any = _NUMBERS.get(stored) or (">i4" if stored == "STRING" else _PLACE)
        if kind == "BYTES" and version == 3:
            form = ">i4"
        formats.append(form)
        offsets.append(at)
        at += 8 if version == 3 and stored in ("FLOAT", "BYTES") else np.dtype(form).itemsize
    return np.dtype(
        {
            "names": [str(n) for n in range(len(kinds))],
            "formats": formats,
            "offsets": offsets,
            "itemsize": at,
        }
    )


def _native(values: Any) -> Any:
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("="))


def _typed(values: pa.Array, kind: str) -> pa.Array:
    return values.cast(pa.bool_()) if kind == "BOOLEAN" else values


def _decimal_text(data: bytes) -> str:
    scale = int.from_bytes(data[:2], "big", signed=True)
    return plain_decimal(int.from_bytes(data[2:], "big", signed=True), scale)


def plain_decimal(unscaled: int, scale: int) -> str:
    """Format a decimal without an exponent, like BigDecimal.toPlainString; of any length."""
    sign, digits = ("-" if unscaled < 0 else ""), str(abs(unscaled))
    if scale <= 0:
        return sign + (digits + "0" * -scale if unscaled else "0")
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


class _Cursor:
    """Reads consecutive ints and texts."""

    def __init__(self, payload: bytes, at: int) -> None:
        self._payload = payload
        self._at = at

    def number(self) -> int:
        self._at += 4
        number: int = _INT.unpack_from(self._payload, self._at - 4)[0]
        return number

    def long(self) -> int:
        self._at += 8
        number: int = _LONG.unpack_from(self._payload, self._at - 8)[0]
        return number

    def text(self) -> bytes:
        length = self.number()
        self._at += length
        if length < 0 or self._at > len(self._payload):
            raise ValueError("a string extends past the end")
        return self._payload[self._at - length : self._at]

    def words(self) -> pa.Array:
        """Read ids and texts; most of the Python steps for a string column are here."""
        size = self.number()
        if not 0 <= size <= len(self._payload) // _PAIR.size:
            raise ValueError(f"a dictionary has {size} words")
        words: list[bytes | None] = [None] * size
        at, payload, pair = self._at, self._payload, _PAIR.unpack_from
        for _ in range(size):
            number, length = pair(payload, at)
            at += 8 + length
            words[number] = payload[at - length : at]
        # Lengths below zero would let a dictionary take no bytes, and there may be billions of them.
        if not self._at + _PAIR.size * size <= at <= len(payload):
            raise ValueError("a dictionary does not end within the answer")
        self._at = at
        return pa.array(words, pa.binary())


def _schema(payload: bytes, start: int, _: int) -> list[tuple[str, str]]:
    cursor = _Cursor(payload, start)
    count = cursor.number()
    texts = [cursor.text().decode() for _ in range(2 * count)]
    return list(zip(texts[:count], texts[count:], strict=True))


def _dictionaries(payload: bytes, start: int, _: int, version: int) -> dict[str, pa.Array]:
    cursor = _Cursor(payload, start)
    if version == 4:
        return {"": pa.array([cursor.text() for _ in range(cursor.number())], pa.binary())}
    return {cursor.text().decode(): cursor.words() for _ in range(cursor.number())}


def _exceptions(payload: bytes, start: int, _: int) -> dict[int, str]:
    cursor = _Cursor(payload, start)
    return {cursor.number(): cursor.text().decode() for _ in range(cursor.number())}


def _metadata(payload: bytes, start: int) -> dict[str, int]:
    cursor = _Cursor(payload, start)
    metadata: dict[str, int] = {}
    if cursor.number() == 0:
        return metadata
    for _ in range(cursor.number()):
        key = cursor.number()
        if key in _INT_KEYS or key in _LONG_KEYS:
            number = cursor.number() if key in _INT_KEYS else cursor.long()
            if key in _KEYS:
                metadata[_KEYS[key]] = number
        elif key in _TEXT_KEYS:
            cursor.text()
        else:
            raise ValueError(f"the metadata has the unknown key {key}")
    return metadata
