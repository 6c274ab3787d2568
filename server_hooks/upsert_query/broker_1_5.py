"""The extension point in Pinot 1.5's broker: its starter is our class; Java: ``v1_5.broker``.

A query gets the versions of its upsert tables as one option, and servers filter the rows by it:
:mod:`server_hooks.upsert.extension_point_1_5`. Both of Pinot's engines pass options to servers. The routing
is our class too: segments that an answer needs and no server has count as unavailable in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jpype

from jvm_bridge.java_interface import overrides
from server_hooks.extension_points import load_classes
from server_hooks.upsert_query.routed import PACKAGE as SHARED
from server_hooks.upsert_query.routed import refusal_text

__all__ = ["STARTER", "install", "unrouted"]

_PACKAGE = "io.pinotplugins.v1_5.broker"
_POLICY = f"{_PACKAGE}.VersionPolicy"

STARTER = f"{_PACKAGE}.Starter"
"""The starter class to use."""


def install(versions_of: Callable[[str, Mapping[str, str]], str | None]) -> None:
    """Set the versions of all queries of the starter; call it before the starter is created.

    Args:
        versions_of: Given a query and its options, returns the option that names the versions of its upsert
            tables, or None; raises to reject the query. Called in the threads of the broker's requests.

    Raises:
        UnsupportedError: This Pinot is built differently.
        SetupError: This Java has no compiler.
    """
    load_classes(
        _PACKAGE,
        SHARED,
        otherwise="the hook upsert does not support the broker of this version of Pinot",
        expected="Pinot 1.5",
        remedy="run the broker without the hook upsert, and query upsert tables through the Python client",
    )
    jpype.JClass(STARTER).install(jpype.JObject(_Policy(versions_of), jpype.JClass(_POLICY)))


def unrouted(manager: Any, table: str, segments: Sequence[str]) -> set[str]:
    """Return which of the given segments of a table (with type) the broker does not query.

    These include optional segments, which a server may skip because they are new.
    """
    return {str(name) for name in manager.unrouted(table, jpype.JArray(jpype.JString)(segments))}


@jpype.JImplements(_POLICY, deferred=True)
class _Policy:
    def __init__(self, versions_of: Callable[[str, Mapping[str, str]], str | None]) -> None:
        self._versions_of = versions_of
        self._refused = jpype.JClass("org.apache.pinot.spi.exception.BadQueryRequestException")

    @overrides
    def versions(self, sql: Any, options: Any) -> str | None:
        """Return the option to add to a query, or None; called in the request's thread."""
        try:
            found = {str(each.getKey()): str(each.getValue()) for each in options.entrySet()}
            return self._versions_of(str(sql), found)
        except Exception as error:
            # After any error, the query must not run unchanged.
            raise self._refused(refusal_text(error)) from error
