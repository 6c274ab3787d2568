"""Compiled classes, into this process."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jpype

from controller_client.common.folders import scratch_folder
from controller_client.errors import SetupError
from jvm_bridge.jars import JarSet, cache_folder
from jvm_bridge.java.class_cache import ClassCache
from jvm_bridge.java.compiler import compile_java
from jvm_bridge.java.sources import JavaSources
from jvm_bridge.jvm import class_folder, running_jars

__all__ = ["load_java", "load_java_apart"]

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
    with _making_classes(sources, folder):
        names = _write_classes(sources, jars, folder)
    loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
    for name in names:
        # Not initialised: what that would load may have to be changed first.
        jpype.JClass("java.lang.Class").forName(name, jpype.JBoolean(False), loader)


def load_java_apart(sources: JavaSources) -> Mapping[str, Any]:
    """Load the classes of a Java package that nothing of Pinot's mentions; as :func:`load_java` otherwise.

    Any JVM with Pinot's jars will do, and each call loads them anew.

    Args:
        sources: The package.

    Returns:
        The classes by name.

    Raises:
        CompileError: A source does not compile against these jars: they are of another Pinot.
        SetupError: This Java has no compiler, or no folder can be written.
    """
    jars = running_jars()
    if jars is None:
        raise SetupError(
            f"No JVM with known jars runs in this process, for the classes of {sources.package}",
            remedy="Start it by jvm_bridge.jvm.start_jvm() before anything else starts one.",
        )
    with scratch_folder("pinot-classes-") as folder:
        with _making_classes(sources, folder):
            names = _write_classes(sources, jars, folder)
        url = jpype.JClass("java.io.File")(str(folder)).toURI().toURL()
        parent = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
        loader = jpype.JClass("java.net.URLClassLoader")([url], parent)
        try:
            return {name: jpype.JClass(loader.loadClass(name)) for name in names}
        finally:
            loader.close()


@contextmanager
def _making_classes(sources: JavaSources, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"The classes of {sources.package} cannot be made: {error}",
            where=str(folder),
            remedy="Free disk space, or set TMPDIR to a folder that can be written.",
        ) from error


def _write_classes(sources: JavaSources, jars: JarSet, folder: Path) -> list[str]:
    """Write the classes into a folder of a class path; returns their names."""
    classes = _classes(sources, jars.class_path)
    for name, content in classes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return [name.removesuffix(_SUFFIX).replace("/", ".") for name in classes]


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
