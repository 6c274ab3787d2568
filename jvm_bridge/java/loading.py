"""Compiled classes, into this process."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path

import jpype

from controller_client.common.folders import scratch_folder
from controller_client.errors import SetupError
from jvm_bridge.jars import cache_folder
from jvm_bridge.java.class_cache import ClassCache
from jvm_bridge.java.compiler import compile_java
from jvm_bridge.java.sources import JavaSources
from jvm_bridge.jvm import class_folder, running_jars

__all__ = ["load_java"]

logger = logging.getLogger(__name__)

_SUFFIX = ".class"


def load_java(sources: JavaSources) -> None:
    """Load the classes of a Java package, compiled against this process' jars; the JVM must run.

    They are compiled once for the sources and the jars, and kept in the cache folder. All are loaded now: a
    process that runs for weeks does not depend on files.

    Args:
        sources: The package.

    Raises:
        CompileError: A source does not compile against these jars: they are of another Pinot.
        SetupError: This Java has no compiler; the JVM has no folder for classes, or that cannot be written.
    """
    jars, folder = running_jars(), class_folder()
    if jars is None or folder is None:
        raise SetupError(
            f"The JVM of this process has no folder for the classes of {sources.package}",
            remedy="Start it by jvm_bridge.jvm.start_jvm_with() before anything else starts one.",
        )
    try:
        classes = _classes(sources, jars.class_path)
        for name, content in classes.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as error:
        raise SetupError(
            f"The classes of {sources.package} cannot be made: {error}",
            where=str(folder),
            remedy="Free disk space, or set TMPDIR to a folder that can be written.",
        ) from error
    loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
    for name in classes:
        # Not initialised: what that would load may have to be changed first.
        jpype.JClass("java.lang.Class").forName(
            name.removesuffix(_SUFFIX).replace("/", "."), jpype.JBoolean(False), loader
        )


def _classes(sources: JavaSources, class_path: tuple[Path, ...]) -> Mapping[str, bytes]:
    cache, digest = ClassCache(cache_folder() / "classes"), sources.digest(class_path)
    found = cache.get(sources.package, digest)
    if found is None:
        started = time.monotonic()
        found = _compiled(sources, class_path)
        logger.info("compiled %s in %.1f s", sources.package, time.monotonic() - started)
        cache.put(sources.package, digest, found)
    return found


def _compiled(sources: JavaSources, class_path: tuple[Path, ...]) -> Mapping[str, bytes]:
    with scratch_folder("pinot-javac-") as folder:
        target = folder / "classes"
        target.mkdir()
        compile_java(sources.files, class_path, target)
        return {
            file.relative_to(target).as_posix(): file.read_bytes() for file in target.rglob(f"*{_SUFFIX}")
        }
