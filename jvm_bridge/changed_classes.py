"""Pinot's classes, changed before they are loaded by the Javassist that is among Pinot's jars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from controller_client.errors import UnsupportedError
from jvm_bridge.java import CompileError

__all__ = ["ChangedClasses", "changing"]


@contextmanager
def changing(problem: str, *, remedy: str) -> Iterator[None]:
    """Say what Java, its compiler or a class that is otherwise refuses; around changes of Pinot's classes.

    Args:
        problem: What cannot be done then.
        remedy: What to do.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or a class is in use already.
    """
    try:
        yield
    except (jpype.JException, CompileError, TypeError, LookupError) as error:
        raise UnsupportedError(f"{problem}: {error}", expected="Pinot 0.11", remedy=remedy) from error


class ChangedClasses:
    """Classes that are changed together; what Java refuses is a ``jpype.JException``.

    Args:
        beside: A class that may be loaded already, of the loader that is to load the changed ones.
    """

    def __init__(self, beside: str) -> None:
        self.loader: Any = jpype.JClass(beside).class_.getClassLoader()
        self.pool: Any = jpype.JClass("javassist.ClassPool")(True)
        self.pool.appendClassPath(jpype.JClass("javassist.LoaderClassPath")(self.loader))

    def get(self, name: str) -> Any:
        """Return a class that is not loaded yet, as Javassist's ``CtClass``."""
        return self.pool.get(name)

    def add_field(self, changed: Any, declaration: str) -> None:
        """Give a class one more field, declared as in Java's source."""
        changed.addField(jpype.JClass("javassist.CtField").make(declaration, changed))

    def load(self, changed: Any) -> Any:
        """Load a changed class; returns it as Java's ``Class``. Fails where it is loaded already."""
        return changed.toClass(self.loader, None)
