"""``pinotctl jars warm``: an archive of classes that later JVMs use."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.builder import warm_up
from jvm_bridge.class_archive import archive_options
from jvm_bridge.jars import pinot_jars
from jvm_bridge.jdk import find_java
from tests.integration.jvm_bridge import child
from tests.integration.jvm_bridge.servers import cache_with
from tests.support.pinotctl import pinotctl
from tests.support.tiers import FULL

pytestmark = pytest.mark.jvm

BUILD = """
import json
from jvm_bridge.builder.warm_up import build_small_segments
build_small_segments()
print(json.dumps("built"))
"""
TABLE_CONFIG = "org.apache.pinot.spi.config.table.TableConfig source:"


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    """A cache without classes; the environment that selects it."""
    return cache_with(tmp_path / "cache")


def warm(cache: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        pinotctl("jars", "warm", "--output", "json"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **cache},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def source_of_table_config(cache: dict[str, str], log: Path) -> str:
    """Build a segment in a process; return the source from which its JVM loaded the class."""
    options = f"-Xlog:class+load:file={log}"
    assert child.result(BUILD, env={**cache, "PINOT_PLUGINS_JAVA_OPTS": options}) == "built"
    (line,) = [line for line in log.read_text().splitlines() if TABLE_CONFIG in line]
    return line.partition("source: ")[2]


def test_an_archive_is_made_once(cache: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[tuple[str, ...]] = []

    def build(*options: str) -> None:
        """Write the archive as the JVM of the real build does at its end."""
        builds.append(options)
        for option in options:
            if option.startswith("-XX:ArchiveClassesAtExit="):
                Path(option.partition("=")[2]).write_bytes(b"an archive")

    for name, value in cache.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(warm_up, "_build_elsewhere", build)
    first, second = warm_up.warm_up(), warm_up.warm_up()
    assert (first.was_there, second.was_there) == (False, True)
    assert first.archive == second.archive
    assert list(first.archive.parent.iterdir()) == [first.archive], "no folder of the build is left"
    assert f"-XX:SharedArchiveFile={first.archive}" in archive_options(find_java(), pinot_jars())
    assert [bool(options) for options in builds] == [True, False]


@FULL
def test_later_jvms_use_the_archive(cache: dict[str, str], tmp_path: Path) -> None:
    before = source_of_table_config(cache, tmp_path / "before.log")
    first = warm(cache)
    after = source_of_table_config(cache, tmp_path / "after.log")

    assert "shared objects file" not in before
    assert "shared objects file" in after
    assert not first["was_there"]
    assert Path(first["archive"]).stat().st_size > 1_000_000
    assert warm(cache) == {**first, "was_there": True}

    # As after an upgrade of this package with other classes: they are compiled again.
    compiled = list(Path(first["archive"]).parent.glob("io.pinotplugins.columns-*.jar"))
    assert len(compiled) == 1
    compiled[0].unlink()
    assert warm(cache)["was_there"]
    assert compiled[0].is_file()

    Path(first["archive"]).write_bytes(b"not an archive")
    assert "shared objects file" not in source_of_table_config(cache, tmp_path / "damaged.log")
