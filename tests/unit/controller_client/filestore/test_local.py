from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, SourceError
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


def test_a_link_that_leads_to_nothing_is_listed_and_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, folder = tmp_path / "mount" / "a", tmp_path / "in"
    target.parent.mkdir()
    target.write_text("one")
    folder.mkdir()
    (folder / "a").symlink_to(target)
    monkeypatch.setenv("PINOT_PLUGINS_FILE_DIRS", str(tmp_path))
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


@pytest.mark.parametrize("target", ["secret", "../secret", "elsewhere", "in/sub/../../secret"])
def test_a_link_out_of_the_folder_is_refused(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secret").write_text("password")
    leads_to = target if target.startswith("..") else tmp_path / target
    (folder / "link").symlink_to(leads_to)
    with pytest.raises(SourceError, match=r"is a link that leads out of .*/in"):
        list(LocalStore(f"file://{folder}").list(str(folder)))


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "2024").mkdir(parents=True)
    (folder / "2024" / "a").write_text("one")
    (folder / "latest").symlink_to("2024")
    (folder / "b").symlink_to("2024/a")
    store = LocalStore(f"file://{folder}")
    files = list(store.list(str(folder)))
    assert [file.uri.removeprefix(f"file://{folder}/") for file in files] == ["2024/a", "b", "latest/a"]
    for file in files:
        with store.local_copy(file, tmp_path) as path:
            assert path.read_text() == "one"
            assert path.name == file.uri.rpartition("/")[2]


def test_links_that_lead_in_circles_or_double_the_files_are_entered_once(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for number in range(15):
        level = folder / f"d{number:02}"
        level.mkdir(parents=True)
        (level / "file").touch()
        if number < 14:
            for name in ("left", "right"):
                (level / name).symlink_to(f"../d{number + 1:02}")
        (level / "top").symlink_to(folder)
    (folder / "self").symlink_to("self")
    found = [file.uri for file in LocalStore().list(str(folder))]
    assert len(found) == len(set(found)) <= 15 * 15 + 1
    assert {f"file://{folder}/d{number:02}/file" for number in range(15)} <= set(found)


def test_a_file_that_a_link_replaces_after_the_listing_is_not_read(tmp_path: Path) -> None:
    folder, secret = tmp_path / "in", tmp_path / "secret"
    folder.mkdir()
    (folder / "a").write_text("harmless")
    secret.write_text("password")
    for path in (folder / "a", secret):
        os.utime(path, (1, 1))
    store = LocalStore(f"file://{folder}")
    (file,) = store.list(str(folder))
    (folder / "a").unlink()
    (folder / "a").symlink_to(secret)
    with (
        pytest.raises(SourceError, match="leads out of"),
        store.local_copy(file, tmp_path),
    ):
        pytest.fail("the link leads to another file of the same size and time")


def test_what_was_opened_is_read_whatever_replaces_it(tmp_path: Path) -> None:
    folder, secret = tmp_path / "in", tmp_path / "secret"
    folder.mkdir()
    (folder / "a").write_text("harmless")
    secret.write_text("password")
    for path in (folder / "a", secret):
        os.utime(path, (1, 1))
    store = LocalStore(f"file://{folder}")
    (file,) = store.list(str(folder))
    with store.local_copy(file, tmp_path) as path:
        (folder / "a").unlink()
        (folder / "a").symlink_to(secret)
        assert path.read_text() == "harmless"


def test_a_pipe_that_replaces_a_file_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (file,) = LocalStore().list(str(tmp_path))
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    os.utime(tmp_path / "a", ns=(file.modified_ms * 1_000_000,) * 2)
    with pytest.raises(SourceChangedError), LocalStore().local_copy(file, tmp_path):
        pytest.fail("a pipe is not a file")


def test_an_uploaded_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, rename = os.fsync, os.replace

    def noted_sync(handle: int) -> None:
        steps.append("sync of a folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "sync of the file")
        sync(handle)

    def noted_rename(source: Path, target: Path) -> None:
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_rename)
    (tmp_path / "new").write_text("content")
    LocalStore().upload(tmp_path / "new", f"file://{tmp_path}/store/t/s")
    assert (tmp_path / "store/t/s").read_text() == "content"
    assert steps == ["sync of the file", "rename", "sync of a folder"]
