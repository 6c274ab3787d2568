"""A JSON array must be the whole file, whatever its texts contain and wherever a read ends."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources import json_array
from jvm_bridge.builder.sources.json_array import check_array
from jvm_bridge.builder.sources.prepare import prepare
from jvm_bridge.input_rules import FileFormat, InputRules

_TEXTS = st.text('[]{}"\\ ,x\n', max_size=6)
_VALUES = st.recursive(
    st.none() | st.integers(0, 9) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


_CHUNK_SIZES = (1, 2, 3, 1 << 20)


def check(folder: Path, content: bytes, chunk_bytes: int) -> None:
    path = folder / "a.json"
    path.write_bytes(content)
    with mock.patch.object(json_array, "_CHUNK_BYTES", chunk_bytes):
        check_array(SourceFile(path, FileFormat.JSON))


def is_whole(text: str) -> bool:
    """Check with another reader."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return False
        raise
    return True


@given(
    rows=st.lists(_VALUES, max_size=3),
    behind=st.sampled_from(["", "\n", " [", "\n{}", '""', "x", ", [1]", ",{", "\0"]),
    chunk_bytes=st.sampled_from(_CHUNK_SIZES),
)
def test_an_array_is_accepted_if_nothing_follows_it(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], behind: str, chunk_bytes: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for indent in (None, 1):
        text = json.dumps(rows, indent=indent, ensure_ascii=False) + behind
        if is_whole(text):
            check(folder, text.encode(), chunk_bytes)
            continue
        with pytest.raises(DataError, match=r"a\.json has data after a JSON array"):
            check(folder, text.encode(), chunk_bytes)


@pytest.mark.parametrize("content", [b"", b"\n", b'{"a": [1]} [2]', b'{"a": 1}\n[2]\n[3]', b'[{"a": "x'])
def test_other_files_are_left_to_their_reader(tmp_path: Path, content: bytes) -> None:
    for chunk_bytes in _CHUNK_SIZES:
        check(tmp_path, content, chunk_bytes)


def test_a_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'[{"a": 1}]\n[{"a": 2}]\n'))
    table = PinotTable(None, None, Unsuitable("of no matter"), None, {})
    (tmp_path / "ready").mkdir()
    with pytest.raises(DataError, match="has data after a JSON array"):
        prepare(table, SourceFile(path, FileFormat.JSON), InputRules(), tmp_path / "ready")
    path.write_bytes(gzip.compress(b'[{"a": 1}]\n[{"a": 2}]\n' * 99)[:-20])
    check_array(SourceFile(path, FileFormat.JSON))
