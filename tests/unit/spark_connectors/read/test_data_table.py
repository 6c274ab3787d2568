"""Answers of servers that are small, but would take memory or time without end."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from controller_client.errors import PinotPluginError
from spark_connectors.read.data_table import decode

_GREATEST = 2**31 - 1


def text(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def answer(
    version: int, kinds: Sequence[bytes], rows: bytes, *, dictionary: bytes = b"", values: bytes = b""
) -> bytes:
    """Return a DataTable with one row, and no metadata."""
    names = [b"c%d" % number for number in range(len(kinds))]
    schema = struct.pack(">i", len(kinds)) + b"".join(map(text, [*names, *kinds]))
    sections, at, places = (b"", dictionary, schema, rows, values), 13 * 4, []
    for section in sections:
        places += [at, len(section)]
        at += len(section)
    return struct.pack(">13i", version, 1, len(kinds), *places) + b"".join(sections) + struct.pack(">i", 0)


@pytest.mark.parametrize("kind", [b"INT_ARRAY", b"DOUBLE_ARRAY", b"BYTES", b"BIG_DECIMAL", b"STRING_ARRAY"])
@pytest.mark.parametrize("length", [_GREATEST, 9, -1])
def test_lengths_beyond_the_answer(kind: bytes, length: int) -> None:
    with pytest.raises(PinotPluginError, match="the lengths of values are wrong"):
        decode(answer(4, [kind], struct.pack(">2i", 0, length), values=bytes(8)))


@pytest.mark.parametrize("size", [_GREATEST, -1])
def test_a_dictionary_of_more_words_than_bytes(size: int) -> None:
    dictionary = struct.pack(">i", 1) + text(b"c0") + struct.pack(">i", size)
    with pytest.raises(PinotPluginError, match=f"a dictionary has {size} words"):
        decode(answer(3, [b"STRING"], bytes(4), dictionary=dictionary))


def test_dictionaries_without_bytes() -> None:
    # Each ends where it begins, as the length of its word is less than none: there would be 2^31 of them.
    one = text(b"") + struct.pack(">i", 1)
    dictionary = struct.pack(">i", _GREATEST) + one + struct.pack(">2i", 0, -8 - len(one))
    with pytest.raises(PinotPluginError, match="a dictionary does not end within the answer"):
        decode(answer(3, [b"STRING"], bytes(4), dictionary=dictionary))


def test_lengths_that_are_true() -> None:
    table = decode(
        answer(4, [b"INT_ARRAY", b"BYTES"], struct.pack(">4i", 0, 2, 8, 1), values=bytes(8) + b"x")
    )
    assert [column.to_pylist() for column in table.columns] == [[[0, 0]], [b"x"]]
