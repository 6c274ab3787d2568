"""A decorator for Python classes that implement a Java interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jpype

__all__ = ["overrides"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


def overrides(method: _Method) -> _Method:
    """Mark a method that implements one of the interface: JPype's JOverride, with types."""
    return cast("_Method", jpype.JOverride(method))
