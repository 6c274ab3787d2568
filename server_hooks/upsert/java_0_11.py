"""The Java classes that run inside Pinot 0.11 for upsert tables; sources in ``server_hooks/java``."""

from __future__ import annotations

from jvm_bridge.java import JavaSources, load_java
from server_hooks.upsert.server_events import PACKAGE as SHARED

__all__ = ["PACKAGE", "load"]

PACKAGE = "io.pinotplugins.v0_11.upsert"
"""Package of the classes."""


def load() -> None:
    """Load the classes; errors as for :func:`jvm_bridge.java.load_java`."""
    load_java(JavaSources.of("server_hooks", PACKAGE, SHARED))
