"""What every Python class that implements a Java interface needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jpype

__all__ = ["overrides"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


def overrides(method: _Method) -> _Method:
    """JPype's JOverride, which has no types: this method implements one of the interface."""
    return cast("_Method", jpype.JOverride(method))
