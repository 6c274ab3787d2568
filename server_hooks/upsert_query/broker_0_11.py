"""Patches Pinot 0.11's broker for queries of upsert tables: it calls the classes in ``server_hooks/java``.

=====================================  ===================================================================
patch point                            what is added
=====================================  ===================================================================
``QueryRewriterFactory.init``          our ``QueryRewriter`` runs after Pinot's own; the broker's start
                                       calls this method before the first query
``BrokerRequestHandlerDelegate``       the request is stored for its thread, since rewriters do not get the
``.handleRequest``                     query options; a query for the multi-stage engine is checked first;
                                       the answer names the versions, or is rejected if segments are missing
``BrokerRoutingManager``               segments that an answer needs and no server has count as unavailable
``.getRoutingTable``
=====================================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jpype

from controller_client.upsert.columns import visible_at
from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.java_interface import overrides
from jvm_bridge.patched_classes import PatchedClasses, patching
from server_hooks.upsert_query.routed import PACKAGE as SHARED
from server_hooks.upsert_query.routed import refusal_text

__all__ = ["BrokerRequest", "change_routing", "install", "unrouted"]

_REWRITER = "org.apache.pinot.sql.parsers.rewriter.QueryRewriter"
_FACTORY = "org.apache.pinot.sql.parsers.rewriter.QueryRewriterFactory"
_DELEGATE = "org.apache.pinot.broker.requesthandler.BrokerRequestHandlerDelegate"
_ROUTING = "org.apache.pinot.broker.routing.BrokerRoutingManager"
_RESPONSE = "org.apache.pinot.common.response.BrokerResponse"

_PACKAGE = "io.pinotplugins.v0_11.broker"
_POLICY = f"{_PACKAGE}.QueryPolicy"
_QUERIES = f"{_PACKAGE}.BrokerQueries"
_WHOLE = f"{_PACKAGE}.WholeRouting"
_BEGIN = (
    f"{{ {_RESPONSE} refused = {_QUERIES}.begin($1, $2, $2 == null || useMultiStageEngine($1, $2));"
    " if (refused != null) { return refused; } }"
)


class BrokerRequest:
    """A request to the broker; see :class:`~server_hooks.upsert_query.queries.Request`."""

    def __init__(self, request: Any) -> None:
        self._request = request

    @property
    def sql(self) -> str:
        """The text of the query."""
        return str(self._request.sql())

    def options(self) -> dict[str, str]:
        """Return the options of the request, overridden by those in the SQL, as in Pinot."""
        return {str(each.getKey()): str(each.getValue()) for each in self._request.options().entrySet()}

    @property
    def versions(self) -> MutableMapping[str, int]:
        """The versions already chosen for the tables of this request."""
        return _Versions(self._request.versions())


class _Versions(dict[str, int]):
    """The versions of one request, stored with it in Java."""

    def __init__(self, kept: Any) -> None:
        super().__init__({str(key): int(kept.get(key)) for key in kept.keySet()} if kept.size() else {})
        self._kept = kept

    def __setitem__(self, table: str, version: int) -> None:
        super().__setitem__(table, version)
        self._kept.put(table, jpype.JClass("java.lang.Long").valueOf(jpype.JLong(version)))


def change_routing() -> None:
    """Make segments that an answer needs and no server has count as unavailable.

    Call it before the starter is created: loading the starter loads the class.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded the class.
        SetupError: This Java has no compiler.
    """
    with _patching():
        load_java(JavaSources.of("server_hooks", _PACKAGE, SHARED))
        classes = PatchedClasses(_REWRITER)
        routing = classes.get(_ROUTING)
        routing.getDeclaredMethod("getRoutingTable").insertAfter(f"$_ = {_WHOLE}.whole($0, $1, $_);")
        classes.load(routing)


def install(
    version_of: Callable[[str, BrokerRequest | None], int | None], check: Callable[[BrokerRequest], None]
) -> None:
    """Intercept all queries; call it after :func:`change_routing`, and before Pinot loads its classes.

    Args:
        version_of: Given a table's name and the request, returns the version to read, or None; raises to
            reject the query. Called in the threads of the broker's requests.
        check: Raises to reject a query for the multi-stage engine. Called in the same threads.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded a class.
    """
    with _patching():
        jpype.JClass(_QUERIES).install(jpype.JObject(_Policy(version_of, check), jpype.JClass(_POLICY)))
        classes = PatchedClasses(_REWRITER)
        delegate = classes.get(_DELEGATE)
        handle = delegate.getDeclaredMethod("handleRequest")
        handle.insertAfter(f"$_ = {_QUERIES}.answered($_);")
        handle.insertAfter(f"{_QUERIES}.end();", True)
        handle.insertBefore(_BEGIN)
        factory = classes.get(_FACTORY)
        factory.getDeclaredMethod("init").insertAfter(f"{_QUERIES}.addRewriter();")
        for each in (delegate, factory):
            classes.load(each)


def _patching() -> AbstractContextManager[None]:
    return patching(
        "the hook upsert cannot rewrite queries in this version of Pinot",
        remedy="run the broker without the hook upsert, and query upsert tables through the Python client",
    )


def unrouted(manager: Any, table: str, segments: Sequence[str]) -> set[str]:
    """Return which of the given segments of a table (with type) the broker does not query."""
    names = jpype.JArray(jpype.JString)(segments)
    return {str(name) for name in jpype.JClass(_WHOLE).unrouted(manager, table, names)}


@jpype.JImplements(_POLICY, deferred=True)
class _Policy:
    def __init__(
        self,
        version_of: Callable[[str, BrokerRequest | None], int | None],
        check: Callable[[BrokerRequest], None],
    ) -> None:
        self._version_of = version_of
        self._check = check
        self._refused = jpype.JClass("org.apache.pinot.sql.parsers.SqlCompilationException")

    @overrides
    def condition(self, table: Any, request: Any) -> str | None:
        """Return the condition to add to a query, or None; called in the thread that compiles it."""
        try:
            version = self._version_of(str(table), None if request is None else BrokerRequest(request))
        except Exception as error:
            # After any error, the query must not run unchanged.
            raise self._refused(refusal_text(error)) from error
        return None if version is None else visible_at(version)

    @overrides
    def refusal(self, request: Any) -> str | None:
        """Return why a query is rejected, or None; called in the request's thread."""
        try:
            self._check(BrokerRequest(request))
        except Exception as error:  # noqa: BLE001  # after any error, the query must not run unchanged
            return refusal_text(error)
        return None
