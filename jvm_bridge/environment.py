"""Which of this process' variables the Java of a Pinot role does not see: those that may hold a secret.

A role of Pinot answers ``GET /appconfigs`` with its environment, to anybody, and since 1.x writes it into its
log. It masks those alone whose names end in PASSWORD, TOKEN or SECRET.
"""

from __future__ import annotations

import os

from controller_client.common.operator_secrets import DEFAULT_PREFIX

__all__ = ["keep_from_java"]

_ADDRESSES = frozenset({"PINOT_CONTROLLER_URL", "PINOT_BROKER_URL"})
"""They may have a user and a password in them."""


def keep_from_java() -> None:
    """Hide them from the JVM, which must not run yet, and from child processes; ``os.environ`` keeps them."""
    for name in list(os.environ):
        if name.startswith(DEFAULT_PREFIX) or name in _ADDRESSES:
            os.unsetenv(name)  # which os.environ, a copy, does not notice
