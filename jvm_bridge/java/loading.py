"""Java sources that are compiled together, and the loading of their classes into this process."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import jpype

from controller_client.common.folders import scratch_folder
from controller_client.errors import SetupError
from jvm_bridge.jars import JarSet, cache_folder
from jvm_bridge.java.class_cache import ClassCache
from jvm_bridge.java.compiler import compile_java
from jvm_bridge.jvm import class_folder, running_jars

__all__ = ["JavaSources", "load_java", "load_java_apart"]


@dataclass(frozen=True)
class JavaSources:
    """A Java package and those that it uses, which compile without other code of this project.

    Attributes:
        package: Name of the Java package.
        files: The ``.java`` files of all packages.
    """

    package: str
    files: tuple[Path, ...]

    @classmethod
    def of(cls, python_package: str, package: str, *used: str) -> Self:
        """Return a package below the folder ``java`` of a Python package.

        Args:
            python_package: The Python package, e.g. ``server_hooks``.
            package: The Java package, e.g. ``io.pinotplugins.v0_11.pause``.
            used: Java packages that it uses, of the same Python package.
        """
        root = Path(str(files(python_package))) / "java"
        folders = [root.joinpath(*name.split(".")) for name in (package, *used)]
        return cls(package, tuple(file for folder in folders for file in sorted(folder.glob("*.java"))))

    def digest(self, class_path: Iterable[Path]) -> str:
        """Return a digest that changes whenever the compiled classes may change.

        It uses the name, size and time of a jar: reading 600 MB of jars at each start would take longer than
        compiling.

        Args:
            class_path: The jars to compile against.

        Raises:
            OSError: A source or a jar cannot be read.
        """
        digest = hashlib.sha256(self.package.encode())
        for file in self.files:
            content = file.read_bytes()
            digest.update(f"\n{file.name} {len(content)}\n".encode() + content)
        for jar in class_path:
            status = jar.stat()
            digest.update(f"\n{jar.name} {status.st_size} {status.st_mtime_ns}".encode())
        return digest.hexdigest()


logger = logging.getLogger(__name__)

_SUFFIX = ".class"


def load_java(sources: JavaSources) -> None:
    """Load the classes of a Java package, compiled against this process's jars; the JVM must be running.

    They are compiled once for the sources and the jars, and stored in the cache folder. All are loaded now,
    so that a long-running process does not depend on files.

    Args:
        sources: The package.

    Raises:
        CompileError: A source does not compile against these jars, which are of another Pinot version.
        SetupError: This Java has no compiler, or the JVM has no folder for classes, or that is not writable.
    """
    jars, folder = running_jars(), class_folder()
    if jars is None or folder is None:
        raise SetupError(
            f"the JVM of this process has no folder for the classes of {sources.package}",
            remedy="start the JVM with jvm_bridge.jvm.start_jvm_with() before other code starts one",
        )
    with _making_classes(sources, folder):
        names = _write_classes(sources, jars, folder)
    loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
    for name in names:
        # Not initialized, as that could load classes which have to be patched first.
        jpype.JClass("java.lang.Class").forName(name, jpype.JBoolean(False), loader)


def load_java_apart(sources: JavaSources) -> Mapping[str, Any]:
    """Load the classes of a Java package that no class of Pinot refers to; otherwise like :func:`load_java`.

    It works in any JVM with Pinot's jars, and each call loads the classes again.

    Args:
        sources: The package.

    Returns:
        The classes by name.

    Raises:
        CompileError: A source does not compile against these jars, which are of another Pinot version.
        SetupError: This Java has no compiler, or the folder is not writable.
    """
    jars = running_jars()
    if jars is None:
        raise SetupError(
            f"this process has no JVM with known jars to load the classes of {sources.package}",
            remedy="start the JVM with jvm_bridge.jvm.start_jvm() before other code starts one",
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
            f"the classes of {sources.package} cannot be written: {error}",
            where=str(folder),
            remedy="free disk space, or set TMPDIR to a writable folder",
        ) from error


def _write_classes(sources: JavaSources, jars: JarSet, folder: Path) -> list[str]:
    """Write the classes to a folder of the class path; returns their names."""
    classes = _classes(sources, jars.class_path)
    for name, content in classes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return [name.removesuffix(_SUFFIX).replace("/", ".") for name in classes]


def _classes(sources: JavaSources, class_path: tuple[Path, ...]) -> Mapping[str, bytes]:
    cache, digest = ClassCache(cache_folder() / "classes"), sources.digest(class_path)
    classes = cache.get(sources.package, digest)
    if classes is None:
        started = time.monotonic()
        classes = _compiled(sources, class_path)
        logger.info("compiled %s in %.1f s", sources.package, time.monotonic() - started)
        cache.put(sources.package, digest, classes)
    return classes


def _compiled(sources: JavaSources, class_path: tuple[Path, ...]) -> Mapping[str, bytes]:
    with scratch_folder("pinot-javac-") as folder:
        target = folder / "classes"
        target.mkdir()
        compile_java(sources.files, class_path, target)
        return {
            file.relative_to(target).as_posix(): file.read_bytes() for file in target.rglob(f"*{_SUFFIX}")
        }
