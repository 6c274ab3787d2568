"""Patches Pinot's classes before they are loaded, with the Javassist in Pinot's jars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from controller_client.errors import UnsupportedError
from jvm_bridge.java import CompileError
from jvm_bridge.java_errors import JAVA_ERRORS

__all__ = ["PatchedClasses", "patching"]


@contextmanager
def patching(problem: str, *, remedy: str) -> Iterator[None]:
    """Convert errors of Java, its compiler or Javassist while Pinot's classes are patched.

    Args:
        problem: The error message.
        remedy: What to do about it.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded a class.
    """
    try:
        yield
    except (*JAVA_ERRORS, CompileError, TypeError, LookupError) as error:
        raise UnsupportedError(f"{problem}: {error}", expected="Pinot 0.11", remedy=remedy) from error


class PatchedClasses:
    """Classes that are patched together; errors of Java are raised as one of ``JAVA_ERRORS``.

    Args:
        neighbor: A class that may already be loaded, by the class loader that is to load the patched ones.
    """

    def __init__(self, neighbor: str) -> None:
        self.loader: Any = jpype.JClass(neighbor).class_.getClassLoader()
        self.pool: Any = jpype.JClass("javassist.ClassPool")(True)
        self.pool.appendClassPath(jpype.JClass("javassist.LoaderClassPath")(self.loader))

    def get(self, name: str) -> Any:
        """Return a class that is not loaded yet, as Javassist's ``CtClass``."""
        return self.pool.get(name)

    def add_field(self, changed: Any, declaration: str) -> None:
        """Add a field to a class, declared as in Java source."""
        changed.addField(jpype.JClass("javassist.CtField").make(declaration, changed))

    def load(self, changed: Any) -> Any:
        """Load a patched class and return it as Java's ``Class``; fails if it is already loaded."""
        return changed.toClass(self.loader, None)
