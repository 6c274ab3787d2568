"""``pinotctl jars warm``: an archive of classes that later JVMs use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.jars import cache_folder
from tests.integration.jvm_bridge import child

pytestmark = pytest.mark.jvm

BUILD = """
import json
from jvm_bridge.builder.warm_up import build_small_segments
build_small_segments()
print(json.dumps("built"))
"""
ARGUMENTS = ("jars", "warm", "--output", "json")
TABLE_CONFIG = "org.apache.pinot.spi.config.table.TableConfig source:"


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    """Create a cache with this machine's jars and no classes; return the environment that selects it."""
    folder = tmp_path / "cache"
    folder.mkdir()
    if cache_folder().is_dir():  # it does not exist where only PINOT_HOME was ever used
        for each in cache_folder().iterdir():
            if each.name != "classes":
                (folder / each.name).symlink_to(each)
    return {"PINOT_PLUGINS_CACHE": str(folder)}


def warm(cache: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", "from controller_client.cli import main; main()", *ARGUMENTS],
        capture_output=True,
        text=True,
        timeout=child.TIMEOUT_S,
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
