from __future__ import annotations

import os
from pathlib import Path

import pytest

from jvm_bridge.java import JavaSources


@pytest.fixture
def sources(tmp_path: Path) -> JavaSources:
    files = (tmp_path / "A.java", tmp_path / "B.java")
    for file in files:
        file.write_text(f"package p; class {file.stem} {{}}")
    return JavaSources("p", files)


@pytest.fixture
def jars(tmp_path: Path) -> tuple[Path, ...]:
    made = (tmp_path / "a.jar", tmp_path / "b.jar")
    for jar in made:
        jar.write_bytes(jar.name.encode())
    return made


def test_the_digest_depends_on_the_sources_and_the_jars(
    sources: JavaSources, jars: tuple[Path, ...], tmp_path: Path
) -> None:
    seen = [sources.digest(jars)]

    def is_new(digest: str) -> bool:
        seen.append(digest)
        return digest not in seen[:-1]

    assert not is_new(sources.digest(jars))
    assert is_new(JavaSources("q", sources.files).digest(jars))
    assert is_new(JavaSources("p", sources.files[:1]).digest(jars))
    assert is_new(sources.digest(jars[:1]))
    assert is_new(sources.digest(jars[::-1]))
    sources.files[0].write_text("package p; class A { }")
    assert is_new(sources.digest(jars))
    status = jars[0].stat()
    os.utime(jars[0], ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert is_new(sources.digest(jars))
    jars[1].write_bytes(b"another")
    assert is_new(sources.digest(jars))
    other = tmp_path / "other"
    other.mkdir()
    moved = tuple(jar.rename(other / jar.name) for jar in jars)
    assert not is_new(sources.digest(moved))


def test_moving_text_between_files_changes_the_digest(tmp_path: Path) -> None:
    files = (tmp_path / "A.java", tmp_path / "B.java")
    digests = set()
    for first, second in (("ab", "c"), ("a", "bc")):
        files[0].write_text(first)
        files[1].write_text(second)
        digests.add(JavaSources("p", files).digest([]))
    assert len(digests) == 2


def test_the_sources_of_a_folder_exist() -> None:
    found = JavaSources.of("jvm_bridge.role_host", "io.pinotplugins.log")
    assert [file.name for file in found.files] == ["MaskSecrets.java"]
