"""The builder's own Java classes, compiled against the Pinot version in use."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from controller_client.errors import SetupError
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.java import CompileError, JavaSources, load_java_apart
from jvm_bridge.java_errors import JAVA_ERRORS

__all__ = ["classes_of"]

_lock = threading.Lock()


@cache
def _load(what: str, package: str, used: tuple[str, ...]) -> Mapping[str, Any] | Unsuitable:
    try:
        return load_java_apart(JavaSources.of("jvm_bridge.builder", package, *used))
    except (CompileError, SetupError, *JAVA_ERRORS) as error:
        return Unsuitable(f"{what} this Pinot: {error}")


def classes_of(what: str, package: str, *used: str) -> Mapping[str, Any]:
    """Return the classes of Java packages by name; the first call in a process loads them.

    Args:
        what: Start of the error message, e.g. "columns cannot be passed to"; "this Pinot" follows.
        package: The package.
        used: Further packages.

    Raises:
        Unsuitable: They do not support this Pinot, or this Java has no compiler.
    """
    with _lock:  # subtasks of a minion are threads
        classes = _load(what, package, used)
    if isinstance(classes, Unsuitable):
        raise classes
    return classes
