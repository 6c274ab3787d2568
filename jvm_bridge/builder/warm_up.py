"""Prepares the classes that a JVM loads until it has built its first segment.

A long-running process loads them before its work. For short-lived processes :func:`warm_up` compiles the
builder's classes and archives the JVM's; both are stored in the cache folder, for the Java and jars in use.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from controller_client.common.folders import scratch_folder
from controller_client.errors import SetupError
from jvm_bridge.builder.segment_builder import SegmentBuilder
from jvm_bridge.class_archive import MINIMUM_JAVA_OF_ARCHIVES, archive_path, writing_options
from jvm_bridge.input_rules import FileFormat
from jvm_bridge.jars import pinot_jars
from jvm_bridge.jars.own_folder import make_folder
from jvm_bridge.jdk import find_java
from jvm_bridge.jvm import OPTIONS_VARIABLE, options_of_environment, start_jvm

__all__ = ["WarmedUp", "build_small_segments", "warm_up"]

_TIMEOUT_S = 600
_ROWS = 1_000
_SHOWN_CHARACTERS = 500


@dataclass(frozen=True)
class WarmedUp:
    """The result of :func:`warm_up`.

    Attributes:
        archive: The JVM's archive.
        size_bytes: Its size.
        was_there: Whether it already existed.
    """

    archive: Path
    size_bytes: int
    was_there: bool


def warm_up() -> WarmedUp:
    """Compile and archive what is missing, in a separate process; takes some ten seconds.

    Raises:
        SetupError: This Java cannot write archives, or the process failed; the error has its last output.
        ConfigError: ``PINOT_PLUGINS_JAVA_OPTS`` has unbalanced quotes.
    """
    java, jars = find_java(), pinot_jars()
    if java.version < MINIMUM_JAVA_OF_ARCHIVES:
        raise SetupError(
            f"Java {java.version_text} cannot write a class archive",
            expected=f"Java {MINIMUM_JAVA_OF_ARCHIVES} or newer",
            where=str(java.home),
        )
    archive = archive_path(java, jars)
    if archive.is_file():
        _build_elsewhere()  # compiles this package's classes, which may be newer than the archive
        return WarmedUp(archive, archive.stat().st_size, was_there=True)
    try:
        make_folder(archive.parent)
        with scratch_folder("incoming-", archive.parent) as folder:
            made = folder / archive.name
            _build_elsewhere(*writing_options(made))
            made.replace(archive)
    except OSError as error:
        raise SetupError(f"the class archive cannot be stored: {error}", where=str(archive)) from error
    return WarmedUp(archive, archive.stat().st_size, was_there=False)


def _build_elsewhere(*further_options: str) -> None:
    options = [*options_of_environment(), *further_options]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "jvm_bridge.builder.warm_up"],
            env={**os.environ, OPTIONS_VARIABLE: shlex.join(options)},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SetupError(
            f"building sample segments for the class archive took more than {_TIMEOUT_S} s",
            remedy="run it again when the machine is less busy; the archive is optional",
        ) from error
    if done.returncode:
        raise SetupError(
            f"sample segments for the class archive could not be built: {done.stderr[-_SHOWN_CHARACTERS:]}",
            remedy="check that 'pinotctl jars fetch' works and that the disk is not full",
        )


def build_small_segments() -> None:
    """Build segments to load the classes that most builds need; starts the JVM if there is none.

    Raises:
        DataError: A segment could not be built.
        SetupError: See :func:`jvm_bridge.jvm.start_jvm`.
    """
    start_jvm()
    kinds = {"number": "LONG", "place": "INT", "share": "DOUBLE", "word": "STRING"}
    schema = {
        "schemaName": "warm",
        "dimensionFieldSpecs": [{"name": name, "dataType": kind} for name, kind in kinds.items()],
    }
    config = {
        "tableName": "warm",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "segmentPushType": "APPEND"},
        "tenants": {},
        "metadata": {},
        "tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["word"]},
    }
    rows = pa.table(
        {
            "number": pa.array(range(_ROWS), pa.int64()),
            "place": pa.array([row % 7 for row in range(_ROWS)], pa.int32()),
            "share": pa.array([row / 3 for row in range(_ROWS)], pa.float64()),
            "word": [f"word {row % 13}" for row in range(_ROWS)],
        }
    )
    with scratch_folder("pinot-warm-") as folder:
        builder = SegmentBuilder(config, schema, folder, reader="arrow")
        builder.from_arrow(rows, "warm_0")
        path = folder / "rows.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()), encoding="utf-8")
        builder.from_file(path, FileFormat.JSON, "warm_1")


if __name__ == "__main__":
    build_small_segments()
