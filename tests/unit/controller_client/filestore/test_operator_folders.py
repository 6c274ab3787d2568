"""The operator of a process decides what ``file://`` can reach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller_client.errors import SourceError
from controller_client.filestore.base import FileInfo
from controller_client.filestore.local import LocalStore
from controller_client.filestore.operator_folders import OperatorFolders


def test_without_a_limit_everything_is_allowed() -> None:
    folders = OperatorFolders({})
    assert not folders.are_bounded
    folders.check(Path("/etc/passwd"))


def test_only_the_allowed_folders_and_never_the_secrets(tmp_path: Path) -> None:
    data, other, secrets = (tmp_path / name for name in ("data", "other", "data/secrets"))
    bounds = {
        "PINOT_PLUGINS_FILE_DIRS": f"{data}{os.pathsep}{other}",
        "PINOT_PLUGINS_SECRETS_DIR": str(secrets),
    }
    folders = OperatorFolders(bounds)
    for allowed in (data, data / "in" / "x.csv", other, data / "secrets-of-nobody"):
        folders.check(allowed)
    for refused in (tmp_path, tmp_path / "database", data / ".." / "x", Path("/etc/passwd")):
        with pytest.raises(SourceError, match="not in a folder that this process may use"):
            folders.check(refused)
    for secret in (secrets, secrets / "key", data / "in" / ".." / "secrets" / "key"):
        with pytest.raises(SourceError, match="secrets folder"):
            folders.check(secret)


def test_a_store_does_not_read_or_write_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data, elsewhere):
        folder.mkdir()
        (folder / "x").write_text("x")
    monkeypatch.setenv("PINOT_PLUGINS_FILE_DIRS", str(data))
    store = LocalStore()
    assert [file.uri for file in store.list(str(data))] == [f"file://{data}/x"]
    stat = (elsewhere / "x").stat()
    foreign = FileInfo(f"file://{elsewhere}/x", stat.st_size, stat.st_mtime_ns // 1_000_000)
    uri = f"file://{elsewhere}/x"
    attempts = (
        lambda: list(store.list(str(elsewhere))),
        lambda: store.local_copy(foreign, tmp_path).__enter__(),
        lambda: store.upload(data / "x", uri),
        lambda: store.download(uri, data / "y"),
        lambda: store.size_bytes(uri),
        lambda: store.delete(uri),
        lambda: store.delete_tree(str(elsewhere)),
    )
    for attempt in attempts:
        with pytest.raises(SourceError, match="not in a folder that this process may use"):
            attempt()
    assert (elsewhere / "x").read_text() == "x"
    assert not (data / "y").exists()


@pytest.mark.parametrize("target", ["elsewhere", "elsewhere/x"])
def test_a_link_counts_by_its_target(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data, elsewhere):
        folder.mkdir()
    (elsewhere / "x").write_text("x")
    (data / "link").symlink_to(tmp_path / target)
    monkeypatch.setenv("PINOT_PLUGINS_FILE_DIRS", f"{data}{os.pathsep}{elsewhere}")
    assert len(list(LocalStore().list(str(data)))) == 1
    monkeypatch.setenv("PINOT_PLUGINS_FILE_DIRS", str(data))
    with pytest.raises(SourceError, match="not in a folder that this process may use"):
        list(LocalStore().list(str(data)))
