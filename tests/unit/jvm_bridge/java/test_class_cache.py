from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jvm_bridge.java.class_cache import ClassCache

CLASSES = {"p/A.class": b"\xca\xfe" * 500, "p/A$B.class": b"b"}
DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def cache(tmp_path: Path) -> ClassCache:
    return ClassCache(tmp_path / "new" / "classes")


def test_stored_classes_are_found_by_their_digest(cache: ClassCache) -> None:
    assert cache.get("p", DIGEST) is None
    cache.put("p", DIGEST, CLASSES)
    assert cache.get("p", DIGEST) == CLASSES
    assert cache.get("p", DIGEST[1:]) is None
    assert cache.get("q", DIGEST) is None
    assert [path.name for path in cache.path("p", DIGEST).parent.iterdir()] == ["p-0123456789abcdef.jar"]


def test_a_corrupt_entry_is_ignored_until_it_is_stored_again(
    cache: ClassCache, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put("p", DIGEST, CLASSES)
    path = cache.path("p", DIGEST)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:70], whole + b"\n", whole[:200] + b"x" + whole[201:], b"\n"):
        path.write_bytes(damaged)
        assert cache.get("p", DIGEST) is None
        assert "is corrupt" in caplog.text
    cache.put("p", DIGEST, CLASSES)
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_used_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = ClassCache(tmp_path / "file" / "classes")
    cache.put("p", DIGEST, CLASSES)
    assert "cannot store compiled classes" in caplog.text
    assert cache.get("p", DIGEST) is None
    assert "cannot read compiled classes" in caplog.text


def test_other_tools_read_an_entry(cache: ClassCache) -> None:
    cache.put("p", DIGEST, CLASSES)
    listed = subprocess.run(
        ["jar", "tf", cache.path("p", DIGEST)], capture_output=True, text=True, check=True
    )
    assert listed.stdout.split() == sorted(CLASSES)
