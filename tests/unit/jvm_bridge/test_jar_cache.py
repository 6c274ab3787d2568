from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from controller_client.errors import SetupError
from jvm_bridge.jars import JarCache, PinSet, Repository, cache_folder, parse_pins
from jvm_bridge.java.class_cache import ClassCache


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def pins(mirror: Path) -> PinSet:
    """Five small jars in the mirror, pinned in an order that is not alphabetical."""
    lines = []
    for name in ("d", "a", "e", "b", "c"):
        content = name.encode() * 1000
        jar = mirror / "g" / name / "1" / f"{name}-1.jar"
        jar.parent.mkdir(parents=True)
        jar.write_bytes(content)
        lines.append(f"g:{name}:1 {hashlib.sha256(content).hexdigest()}")
    return parse_pins("demo-1", "\n".join(lines))


def cache_of(tmp_path: Path, mirror: Path | None) -> JarCache:
    return JarCache(tmp_path / "cache", Repository(str(mirror or tmp_path / "gone")))


def test_jars_are_in_class_path_order(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    reported: list[tuple[int, int]] = []
    jars = cache_of(tmp_path, mirror).ensure(pins, lambda done, total: reported.append((done, total)))
    assert [jar.name for jar in jars] == ["d-1.jar", "a-1.jar", "e-1.jar", "b-1.jar", "c-1.jar"]
    assert all(jar.read_bytes() == jar.name[:1].encode() * 1000 for jar in jars)
    assert reported == [(done, 5) for done in range(6)]


def test_a_complete_set_needs_no_repository(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    first = cache_of(tmp_path, mirror).ensure(pins)
    reported: list[tuple[int, int]] = []
    assert cache_of(tmp_path, None).ensure(pins, lambda *counts: reported.append(counts)) == first
    assert reported == []


def test_an_incomplete_set_is_continued(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    hidden = mirror / "g" / "c"
    hidden.rename(tmp_path / "c")
    with pytest.raises(SetupError, match="g:c:1"):
        cache_of(tmp_path, mirror).ensure(pins)
    (tmp_path / "c").rename(hidden)
    reported: list[tuple[int, int]] = []
    cache_of(tmp_path, mirror).ensure(pins, lambda done, total: reported.append((done, total)))
    assert reported[0][0] > 0


def test_a_damaged_jar_is_fetched_again(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    jars = cache_of(tmp_path, mirror).ensure(pins)
    jars[2].write_bytes(b"E" * 1000)
    cache_of(tmp_path, mirror).ensure(pins)
    assert jars[2].read_bytes() == b"e" * 1000


def test_a_jar_with_other_bytes_is_refused(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    (mirror / "g" / "a" / "1" / "a-1.jar").write_bytes(b"evil")
    cache = cache_of(tmp_path, mirror)
    with pytest.raises(SetupError, match="g:a:1 has the sha256") as caught:
        cache.ensure(pins)
    assert pins.pins[1].sha256 in str(caught.value)
    assert not cache.path(pins.pins[1]).exists()


def test_leftovers_of_a_killed_process_are_deleted(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    left = tmp_path / "cache" / "incoming" / "tmp123" / "a-1.jar"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    cache_of(tmp_path, mirror).ensure(pins)
    assert not left.exists()


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path, mirror: Path, pins: PinSet) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(SetupError, match="cannot be read or written") as caught:
        cache_of(tmp_path, mirror).ensure(pins)
    assert caught.value.where == str(tmp_path / "cache")


def test_a_mirrors_credentials_are_never_shown() -> None:
    repository = Repository("https://user:secret@mirror:8443/maven")
    assert repository.shown == "https://mirror:8443/maven"
    assert "secret" not in repr(repository)


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_a_cache_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    assert cache_folder({"PINOT_PLUGINS_CACHE": str(folder)}) == folder
    folder.chmod(mode)
    with pytest.raises(SetupError, match="other users may write") as caught:
        cache_folder({"PINOT_PLUGINS_CACHE": str(folder)})
    assert f"the mode {mode:o}" in str(caught.value)
    assert f"chmod -R go-w '{folder}'" in str(caught.value)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(SetupError, match="other users may write"):
        cache_folder({"PINOT_PLUGINS_CACHE": str(tmp_path / "link")})


def test_a_cache_of_another_user_is_refused_and_one_of_root_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner == 0:
        assert cache_folder({"PINOT_PLUGINS_CACHE": str(tmp_path)}) == tmp_path
        os.chown(tmp_path, 12345, -1)
    with pytest.raises(SetupError, match="other users may write") as caught:
        cache_folder({"PINOT_PLUGINS_CACHE": str(tmp_path)})
    assert "PINOT_PLUGINS_CACHE" in str(caught.value)


def test_others_may_not_write_to_what_a_process_with_a_loose_umask_creates(
    tmp_path: Path, mirror: Path, pins: PinSet
) -> None:
    before = os.umask(0)
    try:
        cache = JarCache(tmp_path / "a" / "cache", Repository(str(mirror)))
        cache.ensure(pins)
        ClassCache(cache.folder / "classes").put("a.b", "0" * 64, {"A.class": b"x"})
    finally:
        os.umask(before)
    loose = [path for path in (tmp_path / "a").rglob("*") if path.stat().st_mode & 0o022]
    assert [path.name for path in loose] == ["lock"]
