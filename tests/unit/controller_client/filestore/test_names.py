"""Names of files and objects that look like something else: a URI means exactly the listed file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller_client.common.text import visible
from controller_client.errors import ConfigError
from controller_client.filestore import FileInfo, SourceChangedError, open_store
from controller_client.filestore.local import LocalStore, local_path
from controller_client.filestore.s3 import _split

# A URI parser would treat both names of a pair as the same file.
NAMES = [
    *("a.json", "a.json#1.json", "a.json?x=1", "a.json?", "a.json#"),
    *("a b", "a%20b", "a+b", "a%2520b", "%41", "A", "%", "%%", "%zz", "a;b", "a;"),
    *("tab\there", "new\nline", "new\rline", " leading", "trailing ", "tabhere", "newline"),
    *("http:", "s3:", "file:", "c:x", "[x", "x]", "~", "*", "\\", "\\x41", "$HOME", "a&b=c", "\x1b[31m"),
    *("ü", "u\u0308"),
]


def test_each_file_is_read_as_itself(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_text(name, encoding="utf-8", newline="")
    listed = list(LocalStore().list(f"file://{tmp_path}"))
    assert [file.uri for file in listed] == sorted(f"file://{tmp_path}/{name}" for name in NAMES)
    for file in listed:
        with LocalStore().local_copy(file, tmp_path) as path:
            assert path.read_bytes().decode() == file.uri.removeprefix(f"file://{tmp_path}/")


def test_a_name_that_is_not_utf_8_keeps_its_bytes(tmp_path: Path) -> None:
    for name in (b"\xff.csv", b"\\xff.csv", b"%FF.csv", "ÿ.csv".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    for file in LocalStore().list(str(tmp_path)):
        with LocalStore().local_copy(file, tmp_path) as path:
            assert os.fsencode(path.name) == path.read_bytes()


def test_a_missing_file_is_never_confused_with_another(tmp_path: Path) -> None:
    for name, other in (("a%20b", "a b"), ("a#b", "a"), ("a?b", "a")):
        (tmp_path / name).write_text("x")
        (file,) = (each for each in LocalStore().list(str(tmp_path)) if each.uri.endswith(name))
        (tmp_path / name).rename(tmp_path / other)
        with pytest.raises(SourceChangedError), LocalStore().local_copy(file, tmp_path):
            pytest.fail("the other file was read")


@pytest.mark.parametrize("folder", ["my folder", "my#folder", "my?folder", "my%20folder"])
def test_a_literal_folder(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "x").write_text("1")
    uris = [file.uri for file in LocalStore().list(f"file://{tmp_path}/{folder}")]
    assert uris == [f"file://{tmp_path}/{folder}/x"]


def test_a_percent_encoded_folder(tmp_path: Path) -> None:
    (tmp_path / "my folder").mkdir()
    assert local_path(f"file://{tmp_path}/my%20folder") == tmp_path / "my folder"


def test_a_key_is_used_literally() -> None:
    for key in [*NAMES, "/leading", "a//b", "a/", "s3", "bucket/s3://bucket/x", "a/../b", "ünïcödé 日本"]:
        for bucket in ("bucket", "s3", "s3s3"):
            assert _split(f"s3://{bucket}/{key}") == (bucket, key)


@pytest.mark.parametrize("uri", ["data/in", "file:data/in", "./in", "../in", "~/in", "."])
def test_a_relative_path_is_refused_with_the_absolute_one(uri: str) -> None:
    with pytest.raises(ConfigError, match="inputDirURI is a relative path") as refused:
        open_store(uri, {}, key="inputDirURI")
    assert f"file://{Path.cwd()}" in str(refused.value)


def test_a_host_in_a_file_uri_is_refused() -> None:
    with pytest.raises(ConfigError, match="inputDirURI: the URI file://data/in contains the host 'data'"):
        open_store("file://data/in", {}, key="inputDirURI")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日本 🛫.csv", "plain ü 日本 🛫.csv"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[31mred\x07\x9b", r"\x1b[31mred\x07\x9b"),
        ("\u202egpj.exe\u2066\u2028", r"\u202egpj.exe\u2066\u2028"),
        (os.fsdecode(b"\xff\x80x"), r"\xff\x80x"),
        ("\ud800", r"\ud800"),
        ("", ""),
    ],
)
def test_names_are_shown_without_control_characters(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("s3://b/in/a b.csv", "a b.csv"),
        ("s3://b/in/a.csv.gz", "a.csv.gz"),
        ("s3://b/in/" + "x" * 255, "x" * 255),
        ("s3://b/in/" + "ü" * 128, "object"),
        ("s3://b/in/" + "x" * 253 + ".gz", "object.gz"),
        ("s3://b/in/..", "object"),
        ("s3://b/in/.", "object"),
        ("s3://b/in/", "object"),
        ("s3://b/in/a\0.csv", "object"),
    ],
)
def test_a_copy_has_the_name_of_its_file_if_it_can(tmp_path: Path, uri: str, name: str) -> None:
    copied = FileInfo(uri, 1, 1)
    assert copied.copy_name == name
    (tmp_path / copied.copy_name).touch()
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208  # as bytes say
