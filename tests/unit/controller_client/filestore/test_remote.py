"""Stores through fsspec: what is refused, what an error shows, and how properties map to options."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller_client.errors import ConfigError, DiskFullError, SetupError, SourceError
from controller_client.filestore import FileStore, OpenStores, check_store, kinds, open_store
from controller_client.filestore.fsspec_store import FsspecStore
from controller_client.filestore.remote import AZURE, GCS, WEBHDFS, RemoteKind
from controller_client.filestore.traits import StoreTraits

MEMORY = RemoteKind("a.MemoryPinotFS", StoreTraits("memory"), "none", {"key": ("key", str)})


def failing_with(error: Exception) -> FsspecStore:
    """Return a store whose library fails in each call."""
    store = FsspecStore("memory://b/x", StoreTraits("memory"), {"key": "hush-key"})

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    for name in ("ls", "info", "put_file", "rm_file", "get_file"):
        setattr(store._fs, name, fail)
    return store


def test_a_librarys_error_text_is_not_shown(tmp_path: Path) -> None:
    failing = failing_with(PermissionError("hush-key is wrong"))
    (tmp_path / "f").write_bytes(b"x")
    calls = (
        lambda: list(failing.list("memory://b/x")),
        lambda: failing.size_bytes("memory://b/x/f"),
        lambda: failing.upload(tmp_path / "f", "memory://b/x/f"),
        lambda: failing.download("memory://b/x/f", tmp_path / "g"),
        lambda: failing.delete("memory://b/x/f"),
        lambda: failing.delete_tree("memory://b/x"),
    )
    for call in calls:
        with pytest.raises(SourceError) as caught:
            call()
        assert "PermissionError" in str(caught.value)
        assert "memory://b/" in str(caught.value)
        assert "hush" not in str(caught.value) + repr(failing)
        assert caught.value.__cause__ is None


def test_a_subfolder_that_cannot_be_listed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its files would count as deleted, and sync mode would remove them from the table."""
    store = FsspecStore("memory://denied/x", StoreTraits("memory"), {})
    file_system: Any = store._fs
    file_system.pipe_file("/denied/x/a/1", b"1")
    file_system.pipe_file("/denied/x/b/2", b"2")
    ls = file_system.ls

    def denied(path: str, **given: Any) -> Any:
        if path.endswith("/b"):
            raise PermissionError
        return ls(path, **given)

    monkeypatch.setattr(file_system, "ls", denied)
    with pytest.raises(SourceError, match="list memory://denied/x/b"):
        list(store.list("memory://denied/x"))


def test_a_full_disk_is_distinguished_from_a_failing_store(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError):
        failing_with(OSError(28, "No space left on device")).download("memory://b/x/f", tmp_path / "g")


def test_files_without_a_version_are_refused_if_the_store_has_versions() -> None:
    store = FsspecStore("memory://v/x", StoreTraits("memory", version_key="generation"), {})
    store._fs.pipe_file("/v/x/1", b"1")
    with pytest.raises(SourceError, match="does not report the time or version of memory://v/x/1"):
        list(store.list("memory://v/x"))


def test_a_store_serves_only_its_own_bucket() -> None:
    store = FsspecStore("memory://one/x", StoreTraits("memory"), {})
    with pytest.raises(SourceError, match="memory://two/x is not in memory://one/"):
        store.size_bytes("memory://two/x")


@pytest.mark.parametrize(
    ("uri", "properties", "message"),
    [
        ("hdfs://nn:8020/x", {}, "webhdfs://NAMENODE:9870"),
        ("gs://b/x", {"accessKey": "hush"}, "has no property 'accessKey'"),
        ("gs://b/x", {"projectid": "x"}, "did you mean projectId"),
        (
            "gs://b/x",
            {"endpoint": "https://${env:hush}"},
            "endpoint of the file system of gs: contains a ref",
        ),
        ("abfss://c@a.dfs.core.windows.net/x", {"accesskey": "hush"}, "did you mean accessKey"),
        ("webhdfs://nn:9870/x", {"token": "hush"}, "has no property 'token'"),
    ],
)
def test_errors_are_reported_before_a_library_is_loaded(
    uri: str, properties: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_store(uri, properties)
    assert message in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "controller_client.filestore.azure", raising=False)
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(SetupError, match=r"pinot-plugins\[azure\]"):
        open_store("abfss://c@account.dfs.core.windows.net/x", {})
    for module in ("aiohttp", "gcsfs.core"):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(SetupError, match=r"pinot-plugins\[gcs\]"):
            open_store("gs://b/x", {})


@pytest.mark.parametrize(
    ("kind", "uri", "properties", "expected"),
    [
        (GCS, "gs://b/x", {"projectId": "p", "gcpKey": ' {"a": 1}'}, {"project": "p", "token": {"a": 1}}),
        (
            *(AZURE, "abfs://c/x", {"accountName": "abc", "accessKey": "k"}),
            {"account_name": "abc", "account_key": "k", "anon": False},
        ),
        (WEBHDFS, "webhdfs://n/x", {"user": "u", "kerberos": "TRUE"}, {"user": "u", "kerberos": True}),
    ],
)
def test_properties_map_to_fsspecs_options(
    kind: RemoteKind, uri: str, properties: dict[str, str], expected: dict[str, Any]
) -> None:
    assert expected.items() <= kind.read(uri, properties).items()


@pytest.mark.parametrize(
    ("kind", "uri", "properties"),
    [
        (GCS, "gs://b/x", {"gcpKey": '{"hush'}),
        (WEBHDFS, "webhdfs://n/x", {"kerberos": "hush"}),
        # It becomes part of the host that receives the machine's credentials.
        (AZURE, "abfs://c/x", {"accountName": "hush.example.org/"}),
        (AZURE, "abfs://c/x", {"accountName": "hush.example.org#"}),
    ],
)
def test_an_invalid_property_is_not_shown(kind: RemoteKind, uri: str, properties: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="is invalid") as caught:
        kind.read(uri, properties)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    [
        "abfss://c@example.org/x",
        "abfss://c@example.org#.dfs.core.windows.net/x",
        "abfss://c@example.org%23.dfs.core.windows.net/x",
        "abfss://c@account.dfs.core.windows.net.example.org/x",
        "abfss://c#d/x",
    ],
)
def test_an_azure_account_must_be_at_azure(uri: str) -> None:
    with pytest.raises(ConfigError, match="does not contain an Azure account"):
        AZURE.read(uri, {})


def test_a_name_that_the_library_misinterprets_is_refused(tmp_path: Path) -> None:
    """As adlfs does: it treats the end of a name as a fragment or the version of a blob."""
    store = FsspecStore("memory://b/x", StoreTraits("memory"), {})
    file_system: Any = store._fs
    (tmp_path / "f").write_bytes(b"x")
    file_system.pipe_file("/b/x/a", b"x")
    file_system.split_path = lambda path: ("", path.strip("/").removesuffix("#"), None)
    for name in ("a#", "y/../a", "./a"):
        for call in (store.size_bytes, store.delete, lambda uri: store.upload(tmp_path / "f", uri)):
            with pytest.raises(SourceError, match="misinterprets the name"):
                call(f"memory://b/x/{name}")
    assert store.size_bytes("memory://b/x/a") == 1


def test_an_object_with_the_name_of_a_folder_is_listed_but_a_folder_marker_is_not() -> None:
    store = FsspecStore("memory://both/x", StoreTraits("memory"), {})
    entries = [
        {"name": "/both/x/a", "type": "directory", "size": 0},
        {"name": "/both/x/a", "type": "file", "size": 1, "created": 1},
        {"name": "/both/x/b", "type": "file", "size": 0, "created": 1},
        {"name": "/both/x/b", "type": "directory", "size": 0},
    ]
    inside = {"/both/x": entries, "/both/x/a": [], "/both/x/b": []}
    store._fs.ls = lambda path, **_: inside[path]
    assert [file.uri for file in store.list("memory://both/x")] == ["memory://both/x/a"]


def test_a_schemes_case_and_a_versions_quotes_are_ignored() -> None:
    store = FsspecStore("MEMORY://b/x", StoreTraits("memory", version_key="tag"), {})
    store._fs.ls = lambda _path, **_: [
        {"name": "/b/x/a", "type": "file", "size": 1, "created": 1, "tag": '"0x8"'}
    ]
    [found] = store.list("MEMORY://b/x")
    assert (found.uri, found.etag) == ("memory://b/x/a", "0x8")


def test_invalid_options_are_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        WEBHDFS.open("webhdfs://nn:9870/x", {"user": "hush", "password": "hush", "kerberos": "true"})
    assert "hush" not in str(caught.value)


def test_another_package_registers_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = importlib.metadata.EntryPoint("mem", f"{__name__}:MEMORY", kinds.ENTRY_POINT_GROUP)
    broken = importlib.metadata.EntryPoint("odd", "no_such_module:KIND", kinds.ENTRY_POINT_GROUP)
    registered: Mapping[str, importlib.metadata.EntryPoint] = {"mem": entry, "odd": broken}
    monkeypatch.setattr(kinds, "_registered", lambda: registered)
    opened: list[str] = []

    def remember(_self: RemoteKind, uri: str, _properties: Mapping[str, str]) -> FileStore:
        opened.append(uri)
        return FsspecStore("memory://x/", StoreTraits("memory"), {})

    monkeypatch.setattr(RemoteKind, "open", remember)
    stores = OpenStores({})
    assert stores("mem://one/a") is stores("mem://one/b")
    assert stores("mem://two/a") is not stores("mem://one/a")
    assert opened == ["mem://one/a", "mem://two/a"]
    with pytest.raises(ConfigError, match="odd: cannot be loaded from no_such_module:KIND"):
        open_store("odd://x/y", {})
