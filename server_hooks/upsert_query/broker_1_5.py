"""The place in Pinot 1.5's broker where queries pass: its starter is a class of ours; Java: ``v1_5.broker``.

A query gets the versions of its upsert tables as one option, and servers turn it into the rows of these
versions: :mod:`server_hooks.upsert.place_1_5`. Both of Pinot's engines hand options to servers. Segments that
an answer needs and no server has count as unavailable in the routing, which is a class of ours too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jpype

from jvm_bridge.java_interface import overrides
from server_hooks.plug_in_points import load_classes
from server_hooks.upsert_query.refusal_text import refusal_text
from server_hooks.upsert_query.routed import PACKAGE as SHARED

__all__ = ["STARTER", "install", "unrouted"]

_PACKAGE = "io.pinotplugins.v1_5.broker"
_POLICY = f"{_PACKAGE}.VersionPolicy"

STARTER = f"{_PACKAGE}.Starter"
"""The starter to use."""


def install(versions_of: Callable[[str, Mapping[str, str]], str | None]) -> None:
    """Have the starter's queries ask; before the starter is made.

    Args:
        versions_of: Given a query and its options, returns the option that names the versions of its upsert
            tables, or None; raises to refuse the query. Called in the threads of the broker's requests.

    Raises:
        UnsupportedError: This Pinot is built otherwise.
        SetupError: This Java has no compiler.
    """
    load_classes(
        _PACKAGE,
        SHARED,
        otherwise="queries pass otherwise in this version of Pinot",
        expected="Pinot 1.5",
        remedy="run the broker without the hook upsert, and ask for upsert tables through the client",
    )
    jpype.JClass(STARTER).install(jpype.JObject(_Policy(versions_of), jpype.JClass(_POLICY)))


def unrouted(manager: Any, table: str, segments: Sequence[str]) -> set[str]:
    """Return those of some segments of a table (with type) that the broker does not query.

    Those that a server may leave out (new ones) are among them.
    """
    return {str(name) for name in manager.unrouted(table, jpype.JArray(jpype.JString)(segments))}


@jpype.JImplements(_POLICY, deferred=True)
class _Policy:
    def __init__(self, versions_of: Callable[[str, Mapping[str, str]], str | None]) -> None:
        self._versions_of = versions_of
        self._refused = jpype.JClass("org.apache.pinot.spi.exception.BadQueryRequestException")

    @overrides
    def versions(self, sql: Any, options: Any) -> str | None:
        """Return the option that a query gets, or null; called in the request's thread."""
        try:
            found = {str(each.getKey()): str(each.getValue()) for each in options.entrySet()}
            return self._versions_of(str(sql), found)
        except Exception as error:
            # Whatever went wrong, the query must not pass as it is.
            raise self._refused(refusal_text(error)) from error
