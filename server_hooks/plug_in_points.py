"""Pinot's own plug-in points: which there are, and the Java of ours that stands at them."""

from __future__ import annotations

import jpype

from controller_client.errors import UnsupportedError
from jvm_bridge.java import CompileError, JavaSources, load_java

__all__ = ["has_class", "load_classes"]


def has_class(name: str) -> bool:
    """Whether this Pinot has a class; loads none."""
    file = name.replace(".", "/") + ".class"
    return jpype.JClass("java.lang.ClassLoader").getSystemResource(file) is not None


def load_classes(package: str, *used: str, otherwise: str, expected: str, remedy: str) -> None:
    """Load the Java of ours for a plug-in point.

    Args:
        package: Its package.
        used: Packages that it uses.
        otherwise: Said where it does not fit this Pinot: what that does in another way.
        expected: The versions that it fits.
        remedy: What to do then.

    Raises:
        UnsupportedError: This Pinot is built otherwise.
        SetupError: This Java has no compiler.
    """
    try:
        load_java(JavaSources.of("server_hooks", package, *used))
    except (CompileError, jpype.JException) as error:
        raise UnsupportedError(f"{otherwise}: {error}", expected=expected, remedy=remedy) from error
