"""The places in Pinot 0.11's broker where queries pass: they call the classes in ``server_hooks/java``.

=====================================  ===================================================================
place                                  what is added
=====================================  ===================================================================
``QueryRewriterFactory.init``          our ``QueryRewriter`` comes after those of Pinot; the start calls it
                                       before the first query can come
``BrokerRequestHandlerDelegate``       the request is kept for its thread, since rewriters are not given the
``.handleRequest``                     query options; the multi-stage engine is asked of us first; the answer
                                       names the versions, or is refused where segments are missing from it
``BrokerRoutingManager``               segments that an answer needs and no server has count as unavailable
``.getRoutingTable``
=====================================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jpype

from controller_client.upsert.visibility import visible_at
from jvm_bridge.changed_classes import ChangedClasses, changing
from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.java_interface import overrides
from server_hooks.upsert_query.refusal_text import refusal_text
from server_hooks.upsert_query.routed import PACKAGE as SHARED

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
    """A request of the broker; see :class:`~server_hooks.upsert_query.queries.Request`."""

    def __init__(self, request: Any) -> None:
        self._request = request

    @property
    def sql(self) -> str:
        """Its text."""
        return str(self._request.sql())

    def options(self) -> dict[str, str]:
        """Those of the request, and over them those of the SQL, as Pinot takes them."""
        return {str(each.getKey()): str(each.getValue()) for each in self._request.options().entrySet()}

    @property
    def versions(self) -> MutableMapping[str, int]:
        """Versions that this request's tables are asked at already."""
        return _Versions(self._request.versions())


class _Versions(dict[str, int]):
    """Versions of one request, kept beside it in Java."""

    def __init__(self, kept: Any) -> None:
        super().__init__({str(key): int(kept.get(key)) for key in kept.keySet()} if kept.size() else {})
        self._kept = kept

    def __setitem__(self, table: str, version: int) -> None:
        super().__setitem__(table, version)
        self._kept.put(table, jpype.JClass("java.lang.Long").valueOf(jpype.JLong(version)))


def change_routing() -> None:
    """Have segments that an answer needs and no server has count as unavailable.

    Before there is a starter: its methods name the class.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or the class is in use already.
        SetupError: This Java has no compiler.
    """
    with _changing():
        load_java(JavaSources.of("server_hooks", _PACKAGE, SHARED))
        classes = ChangedClasses(_REWRITER)
        routing = classes.get(_ROUTING)
        routing.getDeclaredMethod("getRoutingTable").insertAfter(f"$_ = {_WHOLE}.whole($0, $1, $_);")
        classes.load(routing)


def install(
    version_of: Callable[[str, BrokerRequest | None], int | None], check: Callable[[BrokerRequest], None]
) -> None:
    """Stand in the way of all queries; after :func:`change_routing`, and before Pinot loads its classes.

    Args:
        version_of: Given a table's name and the request, returns the version to see it at, or None; raises to
            refuse the query. Called in the threads of the broker's requests.
        check: Raises to refuse a query for the multi-stage engine. Called in the same threads.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or a class is in use already.
    """
    with _changing():
        jpype.JClass(_QUERIES).install(jpype.JObject(_Policy(version_of, check), jpype.JClass(_POLICY)))
        classes = ChangedClasses(_REWRITER)
        delegate = classes.get(_DELEGATE)
        handle = delegate.getDeclaredMethod("handleRequest")
        handle.insertAfter(f"$_ = {_QUERIES}.answered($_);")
        handle.insertAfter(f"{_QUERIES}.end();", True)
        handle.insertBefore(_BEGIN)
        factory = classes.get(_FACTORY)
        factory.getDeclaredMethod("init").insertAfter(f"{_QUERIES}.addRewriter();")
        for each in (delegate, factory):
            classes.load(each)


def _changing() -> AbstractContextManager[None]:
    return changing(
        "queries cannot be rewritten in this version of Pinot",
        remedy="run the broker without the hook upsert, and ask for upsert tables through the client",
    )


def unrouted(manager: Any, table: str, segments: Sequence[str]) -> set[str]:
    """Return those of some segments of a table (with type) that the broker does not query."""
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
        """Return the condition that a query gets, or null; called in the thread that compiles it."""
        try:
            version = self._version_of(str(table), None if request is None else BrokerRequest(request))
        except Exception as error:
            # Whatever went wrong, the query must not pass as it is.
            raise self._refused(refusal_text(error)) from error
        return None if version is None else visible_at(version)

    @overrides
    def refusal(self, request: Any) -> str | None:
        """Return why a query is refused, or null; called in the request's thread."""
        try:
            self._check(BrokerRequest(request))
        except Exception as error:  # noqa: BLE001  # whatever went wrong, the query must not pass as it is
            return refusal_text(error)
        return None
