"""``pinotctl`` of this checkout as a child process, with the Python that runs the tests."""

from __future__ import annotations

import sys

__all__ = ["pinotctl"]


def pinotctl(*words: str, controller: str | None = None) -> list[str]:
    """Return the command.

    Args:
        words: Its arguments.
        controller: The controller's URL; None: the command needs none, or reads it from the environment.
    """
    options = [] if controller is None else ["--controller", controller]
    return [sys.executable, "-m", "pinotctl", *options, *words]
