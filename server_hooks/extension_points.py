"""Pinot's own extension points: finds which of them exist, and loads our Java classes for them."""

from __future__ import annotations

import jpype

from controller_client.errors import UnsupportedError
from jvm_bridge.java import CompileError, JavaSources, load_java
from jvm_bridge.java_errors import JAVA_ERRORS

__all__ = ["has_class", "load_classes"]


def has_class(name: str) -> bool:
    """Return whether this Pinot has a class, without loading it."""
    file = name.replace(".", "/") + ".class"
    return jpype.JClass("java.lang.ClassLoader").getSystemResource(file) is not None


def load_classes(package: str, *used: str, otherwise: str, expected: str, remedy: str) -> None:
    """Load our Java classes for a extension point.

    Args:
        package: Their package.
        used: Packages that they use.
        otherwise: The error message if they do not compile or load in this Pinot.
        expected: The versions that they support.
        remedy: What to do about the error.

    Raises:
        UnsupportedError: The classes do not support this version of Pinot.
        SetupError: This Java has no compiler.
    """
    try:
        load_java(JavaSources.of("server_hooks", package, *used))
    except (CompileError, *JAVA_ERRORS) as error:
        raise UnsupportedError(f"{otherwise}: {error}", expected=expected, remedy=remedy) from error
