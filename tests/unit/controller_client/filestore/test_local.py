from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller_client.errors import ConfigError
from controller_client.filestore import SourceChangedError, check_store
from controller_client.filestore.local import LocalStore


@pytest.mark.parametrize("uri", ["file://{}", "file:{}", "{}", "{}/"])
def test_a_folder_has_several_spellings(uri: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    assert [file.uri for file in LocalStore().list(uri.format(tmp_path))] == [f"file://{tmp_path}/x"]


def test_a_new_time_is_a_change_even_with_the_same_size(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    (file,) = LocalStore().list(str(tmp_path))
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError), LocalStore().local_copy(file, tmp_path):
        pytest.fail("the file was changed before it was read")
    path.unlink()
    with pytest.raises(SourceChangedError, match="removed"), LocalStore().local_copy(file, tmp_path):
        pytest.fail("the file is gone")


def test_a_link_that_leads_to_nothing_is_listed_and_cannot_be_read(tmp_path: Path) -> None:
    target, folder = tmp_path / "mount" / "a", tmp_path / "in"
    target.parent.mkdir()
    target.write_text("one")
    folder.mkdir()
    (folder / "a").symlink_to(target)
    (before,) = LocalStore().list(str(folder))
    target.unlink()
    (after,) = LocalStore().list(str(folder))
    assert after.uri == before.uri == f"file://{folder}/a"
    assert after != before
    with (
        pytest.raises(SourceChangedError, match="is a link that leads to nothing"),
        LocalStore().local_copy(after, tmp_path),
    ):
        pytest.fail("there is nothing to read")


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
