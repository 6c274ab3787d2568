"""The common behaviour of all stores: local files, and fsspec with and without renames, with real
libraries."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest

from controller_client.errors import SourceError
from controller_client.filestore import FileStore, FolderMissingError, SourceChangedError
from controller_client.filestore.fsspec_store import FsspecStore
from controller_client.filestore.local import LocalStore
from controller_client.filestore.traits import StoreTraits

_TRAITS = {
    "memory": StoreTraits("memory"),
    "renamed": StoreTraits("memory", is_file_system=True),
    "flat": StoreTraits("memory", is_listed_flat=True),
}


@dataclass
class Place:
    """A store with an empty folder in it."""

    store: FileStore
    uri: str
    work_dir: Path

    def put(self, name: str, content: bytes) -> str:
        path = self.work_dir / "put"
        path.write_bytes(content)
        self.store.upload(path, f"{self.uri}/{name}")
        return f"{self.uri}/{name}"

    def get(self, uri: str) -> bytes:
        path = self.work_dir / "got"
        self.store.download(uri, path)
        return path.read_bytes()


@pytest.fixture(params=["local", *_TRAITS])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    work_dir = tmp_path / "work"
    work_dir.mkdir()
    if request.param == "local":
        yield Place(LocalStore(), f"file://{tmp_path}/in", work_dir)
        return
    uri = f"memory://b-{uuid.uuid4().hex}/in"
    traits = _TRAITS[request.param]
    store = FsspecStore(uri, traits, {})
    if traits.is_file_system:
        _rename_by_name(store._fs)
    yield Place(store, uri, work_dir)
    fsspec.filesystem("memory").store.clear()


def test_files_are_listed_recursively_sorted_by_uri(place: Place) -> None:
    names = ["b", "a/z", "a/y/x", "a.csv", "a0", "c/d/e/f"]
    for name in names:
        place.put(name, name.encode())
    found = list(place.store.list(place.uri))
    assert [each.uri for each in found] == sorted(f"{place.uri}/{name}" for name in names)
    assert [each.size_bytes for each in found] == [len(each.uri) - len(place.uri) - 1 for each in found]
    assert list(place.store.list(place.uri + "/")) == found
    assert all(each.modified_ms > 1_600_000_000_000 for each in found)


@pytest.mark.parametrize("name", ["a b", "a#b", "a?b=c", "a%20b", "[a]*", "é", "a\nb", ".a", "{x}", "a;b&c"])
def test_a_file_may_have_any_name(place: Place, name: str) -> None:
    uri = place.put(f"folder/{name}", b"here")
    [found] = place.store.list(place.uri)
    assert found.uri == uri
    assert place.get(uri) == b"here"
    with place.store.local_copy(found, place.work_dir) as copy:
        assert copy.read_bytes() == b"here"
    place.store.delete(uri)
    assert list(place.store.list(place.uri)) == []


def test_an_upload_replaces_the_file_and_leaves_nothing_else(place: Place) -> None:
    uri = place.put("x", b"first")
    assert place.put("x", b"second one") == uri
    assert place.get(uri) == b"second one"
    assert place.store.size_bytes(uri) == 10
    assert [each.uri for each in place.store.list(place.uri)] == [uri]


def test_missing_files(place: Place) -> None:
    place.put("x", b"x")
    missing = f"{place.uri}/none"
    assert place.store.size_bytes(missing) is None
    assert place.store.size_bytes(place.uri) is None
    place.store.delete(missing)
    assert place.store.delete_tree(missing) == 0
    with pytest.raises(SourceError, match="none"):
        place.get(missing)
    with pytest.raises(FolderMissingError, match="none"):
        list(place.store.list(missing))


def test_a_folder_is_deleted_recursively_and_nothing_else(place: Place) -> None:
    for name in ("s/1", "s/t/2", "s2/3"):
        place.put(name, b"x")
    assert place.store.delete_tree(f"{place.uri}/s") == 2
    assert [each.uri for each in place.store.list(place.uri)] == [f"{place.uri}/s2/3"]
    assert place.store.delete_tree(f"{place.uri}/s") == 0


@pytest.mark.parametrize("name", ["x", "a b", "a#b?c", "a%20b", "[a]*", "é"])
def test_a_file_is_moved_and_replaces_what_is_there(place: Place, name: str) -> None:
    source, target = place.put(f"t/{name}", b"moved"), f"{place.uri}/q/2026/t/{name}"
    assert place.store.move(source, target)
    assert place.get(target) == b"moved"
    assert not place.store.move(source, target)
    place.put(f"t/{name}", b"moved again")
    assert place.store.move(source, target)
    assert [each.uri for each in place.store.list(place.uri)] == [target]
    assert place.get(target) == b"moved again"


def test_a_rename_that_fails_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(LocalStore(), f"file://{tmp_path}/in", tmp_path)
    source = place.put("t/x", b"all of it")

    def fail(_old: Path, _new: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(SourceError, match=r"cannot be moved to .*q/x: Invalid"):
        place.store.move(source, f"{place.uri}/q/x")
    assert place.get(source) == b"all of it"


@pytest.mark.parametrize("kind", _TRAITS)
@pytest.mark.parametrize("fault", ["refused", "nothing done", "not complete"])
def test_a_move_that_fails_deletes_no_file(
    kind: str, fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """WebHDFS reports only in its reply that nothing was done; Azure copies in the background."""
    uri = f"memory://b-{uuid.uuid4().hex}/in"
    store = FsspecStore(uri, _TRAITS[kind], {})
    file_system = store._fs
    if _TRAITS[kind].is_file_system:
        _rename_by_name(file_system)
    place = Place(store, uri, tmp_path)
    source = place.put("t/x", b"all of it")

    def fail(_old: str, new: str) -> None:
        if fault == "refused":
            raise OSError(5, "broken")
        if fault == "not complete":
            file_system.pipe_file(new, b"all")

    for call in ("mv", "cp_file"):
        monkeypatch.setattr(file_system, call, fail)
    shown = {
        "refused": "failed to move",
        "nothing done": "nothing is there",
        "not complete": "3 bytes are there",
    }
    with pytest.raises(SourceError, match=shown[fault]):
        store.move(source, f"{uri}/q/x")
    assert place.get(source) == b"all of it"


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_rewritten_file_is_noticed(place: Place, when: str) -> None:
    uri = place.put("x", b"first")
    [found] = place.store.list(place.uri)
    if when == "before":
        place.put("x", b"longer than first")
        with pytest.raises(SourceChangedError), place.store.local_copy(found, place.work_dir):
            raise AssertionError
        return
    rewritten = _while_it_is_read(place, lambda: place.put("x", b"longer than first"))
    with pytest.raises(SourceChangedError), place.store.local_copy(found, place.work_dir):
        rewritten()
    assert place.get(uri) == b"longer than first"


def test_a_deleted_file_is_noticed(place: Place) -> None:
    uri = place.put("x", b"first")
    [found] = place.store.list(place.uri)
    place.store.delete(uri)
    with pytest.raises(SourceChangedError), place.store.local_copy(found, place.work_dir):
        raise AssertionError


def _rename_by_name(file_system: Any) -> None:
    """Rename like WebHDFS; the rename of fsspec's memory file system copies what matches a pattern."""

    def mv(source: str, target: str) -> None:
        file_system.cp_file(source, target)
        file_system.rm_file(source)

    file_system.mv = mv


def _while_it_is_read(place: Place, change: Callable[[], object]) -> Callable[[], object]:
    """A local file is read in place; others are read when copied."""
    if isinstance(place.store, LocalStore):
        return change
    file_system: Any = place.store._fs  # type: ignore[attr-defined]
    get_file = file_system.get_file

    def changed(*arguments: Any) -> None:
        get_file(*arguments)
        file_system.get_file = get_file
        change()

    file_system.get_file = changed
    return lambda: None


@pytest.mark.parametrize("pattern", ["*", "[ab]", "?"])
def test_a_folder_whose_name_is_a_pattern_is_deleted_alone(place: Place, pattern: str) -> None:
    for name in ("a/1", f"{pattern}/2"):
        place.put(name, b"x")
    assert place.store.delete_tree(f"{place.uri}/{pattern}") == 1
    assert [each.uri for each in place.store.list(place.uri)] == [f"{place.uri}/a/1"]
