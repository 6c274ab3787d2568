"""The input of CSV and JSON readers: UTF-8 without a byte order mark, or an error with the position."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.sources import text_input
from jvm_bridge.builder.sources.text_input import check_text
from jvm_bridge.input_rules import FileFormat, text_encoding

TEXT = "id,word\n1,Zürich\n2,日本 😀\r\n"
LATIN = "id,word\n1,Zürich\n2,café\n"


def read(tmp_path: Path, content: bytes, encoding: str = "utf-8", *, name: str = "a.csv") -> bytes:
    """Return the bytes that a reader gets."""
    path, copy = tmp_path / name, tmp_path / "copy"
    path.write_bytes(content)
    file_format = FileFormat.JSON if "json" in name else FileFormat.CSV
    found = check_text(SourceFile(path, file_format), text_encoding(encoding), copy)
    return copy.read_bytes() if found.copied else path.read_bytes()


def test_plain_utf_8_is_read_in_place(tmp_path: Path) -> None:
    for content in (TEXT.encode(), b"", b"\n", gzip.compress(TEXT.encode())):
        assert read(tmp_path, content) == content
        assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_removed(tmp_path: Path, packed: bool) -> None:
    content = codecs.BOM_UTF8 + TEXT.encode()
    assert read(tmp_path, gzip.compress(content) if packed else content) == TEXT.encode()
    assert read(tmp_path, codecs.BOM_UTF8) == b""


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("ISO-8859-1", LATIN.encode("latin-1")),
        ("windows-1252", (LATIN + "3,€").encode("cp1252")),
        ("UTF-16", TEXT.encode("utf-16")),
        ("UTF-16", codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be")),
        ("UTF-16LE", TEXT.encode("utf-16-le")),
        ("UTF-16LE", codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le")),
        ("UTF-16", "\0a".encode("utf-16")),
        ("UTF-32", TEXT.encode("utf-32")),
        ("Shift_JIS", "id,word\n1,日本\n".encode("shift_jis")),
        ("GB18030", "\ufeffid,word\n1,日本 €\n".encode("gb18030")),
        ("UTF8", TEXT.encode("utf-8-sig")),
        ("utf-8-sig", TEXT.encode("utf-8-sig")),
    ],
)
def test_another_encoding_is_converted(tmp_path: Path, encoding: str, content: bytes) -> None:
    expected = content.decode(encoding).removeprefix("\ufeff").encode()
    assert read(tmp_path, content, encoding) == expected
    assert read(tmp_path, gzip.compress(content), encoding, name="b.csv.gz") == expected


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        (TEXT.encode("utf-16"), "UTF-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (codecs.BOM_UTF32_BE, "UTF-32"),
    ],
)
def test_a_byte_order_mark_of_another_encoding_is_refused(tmp_path: Path, content: bytes, mark: str) -> None:
    with pytest.raises(
        UnreadableFileError, match=f"a.csv starts with the byte-order mark of {mark}"
    ) as refused:
        read(tmp_path, content)
    assert refused.value.remedy == f"set inputEncoding to {mark}, or write the file in UTF-8"


def test_a_byte_order_mark_that_contradicts_the_declared_encoding_is_refused(tmp_path: Path) -> None:
    for content, encoding in (
        (codecs.BOM_UTF8 + LATIN.encode(), "ISO-8859-1"),
        (codecs.BOM_UTF16_BE + b"\0a", "UTF-16LE"),
        (codecs.BOM_UTF8 + b"a", "UTF-16"),
    ):
        with pytest.raises(UnreadableFileError, match="byte-order mark"):
            read(tmp_path, content, encoding)
    with pytest.raises(UnreadableFileError, match="has no byte-order mark") as refused:
        read(tmp_path, TEXT.encode("utf-16-be"), "UTF-16")
    assert "UTF-16LE or UTF-16BE" in str(refused.value)


@pytest.mark.parametrize("chunk_bytes", [4, 7, 1 << 20])
@pytest.mark.parametrize(
    ("encoding", "good", "bad"),
    [
        ("utf-8", "id,word\n1,Zürich\n2,", b"\xe9\n"),
        ("utf-8", "id,word\r\n1,a\r\n2,", b"\xff"),
        ("utf-8", "a\n😀", b"\xf0\x9f\x98"),
        ("utf-8", "", b"\x80"),
        ("ascii", "a\nb", "ü".encode()),
        ("windows-1252", "é\n\n", b"\x81"),
        ("utf-16-le", "a\n日\n", b"\x00\xd8\x41\x00"),
        ("shift_jis", "日本\n", b"\xff"),
    ],
)
def test_invalid_bytes_are_reported_with_line_and_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, good: str, bad: bytes, chunk_bytes: int
) -> None:
    monkeypatch.setattr(text_input, "_CHUNK_BYTES", chunk_bytes)
    content = good.encode(encoding)
    line = good.count("\n") + 1
    for whole in (content + bad, gzip.compress(content + bad)):
        with pytest.raises(
            DataError, match=f"a.csv, line {line}: the byte 0x{bad[0]:02x} at offset"
        ) as refused:
            read(tmp_path, whole, encoding)
        assert str(refused.value.where).endswith(f"a.csv, line {line}, byte offset {len(content)}")
        assert "inputEncoding" in str(refused.value.remedy)


@given(text=st.text(max_size=50), chunk_bytes=st.integers(1, 9))
def test_all_text_is_passed_on(tmp_path_factory: pytest.TempPathFactory, text: str, chunk_bytes: int) -> None:
    folder = tmp_path_factory.getbasetemp()
    with mock.patch.object(text_input, "_CHUNK_BYTES", max(4, chunk_bytes)):
        text = text.removeprefix("\ufeff")
        assert read(folder, text.encode()) == text.encode()
        assert read(folder, codecs.BOM_UTF8 + text.encode()) == text.encode()
        if text:
            assert read(folder, text.encode("utf-16"), "UTF-16") == text.encode()


def test_truncated_gzip_data_is_left_to_the_reader_except_its_header(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode() * 10_000)
    assert read(tmp_path, packed[:-20]) == packed[:-20]
    # Unless a copy is read, whose end looks like that of a complete file.
    for size in (200, -20):
        with pytest.raises(DataError, match=r"a\.csv, line \d+: its gzip data is truncated"):
            read(tmp_path, gzip.compress(codecs.BOM_UTF8 + TEXT.encode() * 10_000)[:size])
    for size in (2, 9, 12):
        with pytest.raises(UnreadableFileError, match="its gzip header is corrupt"):
            read(tmp_path, packed[:size])


@pytest.mark.parametrize(
    "name", ["no-such", "rot13", "base64", "zip", "idna", "unicode_escape", "", "a\0b", "utf-7"]
)
def test_encodings_that_are_not_of_text(name: str) -> None:
    with pytest.raises(ValueError, match="expected a text encoding"):
        text_encoding(name)


@pytest.mark.parametrize("chunk_bytes", [4, 5, 6, 7, 1 << 20])
def test_keys_that_occur_in_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    monkeypatch.setattr(text_input, "_CHUNK_BYTES", chunk_bytes)
    rows = io.StringIO()
    for row in ({"id": 1, "wo": 2}, {"id": 2, "größe": 1}, {"x": {"word": 1}}):
        rows.write(json.dumps(row) + "\n")
    path = tmp_path / "a.json"
    path.write_text(rows.getvalue())
    keys = ["id", "word", "größe", "gone", 'quo"te', "w"]
    found = check_text(SourceFile(path, FileFormat.JSON), "utf-8", tmp_path / "copy", keys)
    assert found.absent_keys == {"gone", 'quo"te', "w"}
    path.write_text(rows.getvalue().encode().decode("unicode_escape"), encoding="utf-8")
    found = check_text(SourceFile(path, FileFormat.JSON), "utf-8", tmp_path / "copy", keys)
    assert found.absent_keys == {"gone", 'quo"te', "w"}
