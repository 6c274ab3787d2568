"""Hides environment variables that may have a secret from the Java of a Pinot role.

A Pinot role returns its environment to anybody in ``GET /appconfigs``, and since 1.x writes it to its log. It
masks only variables whose names end in PASSWORD, TOKEN or SECRET.
"""

from __future__ import annotations

import os

from controller_client.common.operator_secrets import DEFAULT_PREFIX

__all__ = ["keep_from_java"]

_ADDRESSES = frozenset({"PINOT_CONTROLLER_URL", "PINOT_BROKER_URL"})
"""URLs that may contain a user and a password."""


def keep_from_java() -> None:
    """Hide the variables from the JVM, before it starts, and child processes; ``os.environ`` keeps them."""
    for name in list(os.environ):
        if name.startswith(DEFAULT_PREFIX) or name in _ADDRESSES:
            os.unsetenv(name)  # does not change os.environ, which is a copy
