"""The class archive of a builder's JVM, stored in the form that a JVM maps (class data sharing).

::

    <cache>/classes/jvm-<digest>.jsa    for one Java and one set of jars

A JVM that finds its archive needs about a third less processor time until it has built its first segment. The
JVM ignores an archive that does not match.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from jvm_bridge.jars import JarSet, cache_folder
from jvm_bridge.jdk import Java

__all__ = ["MINIMUM_JAVA_OF_ARCHIVES", "archive_options", "archive_path", "writing_options"]

MINIMUM_JAVA_OF_ARCHIVES = 13
_DIGITS = 16
# Otherwise the JVM writes messages about excluded classes and mismatched archives to stdout.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_path(java: Java, jars: JarSet) -> Path:
    """Return the path of the archive for a Java and jars, whether it exists or not.

    Raises:
        OSError: A jar cannot be read.
    """
    digest = hashlib.sha256(f"{java.home.resolve()} {java.version_text}".encode())
    for jar in jars.class_path:
        status = jar.stat()
        digest.update(f"\n{jar} {status.st_size} {status.st_mtime_ns}".encode())
    return cache_folder() / "classes" / f"jvm-{digest.hexdigest()[:_DIGITS]}.jsa"


def archive_options(java: Java, jars: JarSet) -> Sequence[str]:
    """Return the options that make a JVM use its archive; empty if there is none."""
    path = archive_path(java, jars)
    return (f"-XX:SharedArchiveFile={path}", *_QUIET) if path.is_file() else ()


def writing_options(path: Path) -> Sequence[str]:
    """Return the options that make a JVM write an archive when it ends."""
    return (f"-XX:ArchiveClassesAtExit={path}", *_QUIET)
