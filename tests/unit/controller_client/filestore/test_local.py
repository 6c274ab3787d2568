from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, SourceError
from controller_client.filestore import SourceChangedError, check_store
from controller_client.filestore.local import LocalStore


def test_files_are_listed_recursively_sorted_by_uri(tmp_path: Path) -> None:
    for name in ("b.csv", "a/z.csv", "a/b/c.csv", "ü x.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    uris = [file.uri for file in LocalStore().list(f"file://{tmp_path}")]
    assert uris == sorted(uris)
    assert {uri.removeprefix(f"file://{tmp_path}/") for uri in uris} == {
        "b.csv",
        "a/z.csv",
        "a/b/c.csv",
        "ü x.csv",
    }


@pytest.mark.parametrize("uri", ["file://{}", "file:{}", "{}", "{}/"])
def test_a_folder_has_several_spellings(uri: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    assert [file.uri for file in LocalStore().list(uri.format(tmp_path))] == [f"file://{tmp_path}/x"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        list(LocalStore().list(f"file://{tmp_path}/nowhere"))


def test_a_file_changed_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    (file,) = LocalStore().list(str(tmp_path))

    def read_while_it_changes() -> None:
        with LocalStore().local_copy(file, tmp_path) as local:
            assert local.read_text() == "one"
            path.write_text("other")

    with pytest.raises(SourceChangedError, match="changed"):
        read_while_it_changes()
    path.write_text("one")
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError), LocalStore().local_copy(file, tmp_path):
        pytest.fail("the file was changed before it was read")
    path.unlink()
    with pytest.raises(SourceChangedError, match="removed"), LocalStore().local_copy(file, tmp_path):
        pytest.fail("the file is gone")


def test_upload_creates_folders_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    store = LocalStore()
    store.upload(tmp_path / "x", f"file://{tmp_path}/deep/er/y")
    assert [path.name for path in (tmp_path / "deep/er").iterdir()] == ["y"]
    store.download(f"file://{tmp_path}/deep/er/y", tmp_path / "z")
    assert (tmp_path / "z").read_text() == "1"
    assert store.delete_tree(f"file://{tmp_path}/deep") == 1
    assert store.delete_tree(f"file://{tmp_path}/deep") == 0


@pytest.mark.parametrize(
    ("uri", "class_name"),
    [
        ("hdfs://x/y", None),
        ("/x", "org.apache.pinot.plugin.filesystem.S3PinotFS"),
        ("s3://b/x", "a.LocalPinotFS"),
    ],
)
def test_a_store_class_that_does_not_match_is_refused(uri: str, class_name: str | None) -> None:
    with pytest.raises(ConfigError):
        check_store(uri, {}, class_name=class_name)
