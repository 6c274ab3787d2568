"""The places in Pinot 0.11's broker where queries pass. All byte code and reflection is in here.

=====================================  ===================================================================
place                                  what is added
=====================================  ===================================================================
``QueryRewriterFactory.init``          our ``QueryRewriter`` comes after those of Pinot; the start calls it
                                       before the first query can come
``BrokerRequestHandlerDelegate``       the request is kept for its thread, since rewriters are not given the
``.handleRequest``                     query options; the multi-stage engine is asked of us first
=====================================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import jpype

from controller_client.errors import PinotPluginError, UnsupportedError
from controller_client.upsert.visibility import visible_at
from jvm_bridge.changed_classes import ChangedClasses
from jvm_bridge.java_interface import overrides

__all__ = ["BrokerRequest", "install", "routed_segments"]

_REWRITER = "org.apache.pinot.sql.parsers.rewriter.QueryRewriter"
_FACTORY = "org.apache.pinot.sql.parsers.rewriter.QueryRewriterFactory"
_PARSER = "org.apache.pinot.sql.parsers.CalciteSqlParser"
_DELEGATE = "org.apache.pinot.broker.requesthandler.BrokerRequestHandlerDelegate"
_HANDLER = "org.apache.pinot.broker.requesthandler.BaseBrokerRequestHandler"
_FUNCTION = "java.util.function.BiFunction"
_REFUSED = (
    "new org.apache.pinot.common.response.broker.BrokerResponseNative("
    "org.apache.pinot.common.exception.QueryException.getException("
    "org.apache.pinot.common.exception.QueryException.QUERY_VALIDATION_ERROR, (String) refused))"
)
_REQUEST, _CHECK, _ADDED = "pythonRequest", "pythonCheck", "pythonRewriter"
_BEFORE = f"""{{
    if ($2 == null || useMultiStageEngine($1, $2)) {{
        Object refused = {_CHECK}.apply($1, $2);
        if (refused != null) {{ return {_REFUSED}; }}
    }}
    {_REQUEST}.set(new Object[] {{ $1, $2, new java.util.HashMap() }});
}}"""


class BrokerRequest:
    """A request of the broker; see :class:`~server_hooks.upsert_query.queries.Request`."""

    def __init__(self, json: Any, sql_and_options: Any, versions: MutableMapping[str, int]) -> None:
        self._json = json
        self._sql_and_options = sql_and_options
        self.versions = versions

    @property
    def sql(self) -> str:
        """Its text."""
        return str(self._json.get("sql").asText())

    def options(self) -> dict[str, str]:
        """Those of the request, and over them those of the SQL, as Pinot takes them."""
        read = jpype.JClass(_HANDLER).getOptionsFromJson
        found: dict[str, str] = {}
        for key in ("debugOptions", "queryOptions"):
            if self._json.has(key):
                found.update(_strings(read(self._json, key)))
        parsed = self._sql_and_options
        if parsed is None:
            parsed = jpype.JClass(_PARSER).compileToSqlNodeAndOptions(self.sql)
        found.update(_strings(parsed.getOptions()))
        return found


class _Versions(dict[str, int]):
    """Versions of one request, kept beside it in Java."""

    def __init__(self, kept: Any) -> None:
        super().__init__({str(key): int(kept.get(key)) for key in kept.keySet()} if kept.size() else {})
        self._kept = kept

    def __setitem__(self, table: str, version: int) -> None:
        super().__setitem__(table, version)
        self._kept.put(table, jpype.JClass("java.lang.Long").valueOf(jpype.JLong(version)))


def install(
    version_of: Callable[[str, BrokerRequest | None], int | None], check: Callable[[BrokerRequest], None]
) -> None:
    """Stand in the way of all queries; before Pinot loads its classes.

    Args:
        version_of: Given a table's name and the request, returns the version to see it at, or None; raises to
            refuse the query. Called in the threads of the broker's requests.
        check: Raises to refuse a query for the multi-stage engine. Called in the same threads.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or a class is in use already.
    """
    try:
        classes = ChangedClasses(_REWRITER)
        delegate = classes.get(_DELEGATE)
        made = "new java.lang.ThreadLocal()"
        classes.add_field(delegate, f"public static final java.lang.ThreadLocal {_REQUEST} = {made};")
        classes.add_field(delegate, f"public static {_FUNCTION} {_CHECK};")
        handle = delegate.getDeclaredMethod("handleRequest")
        handle.insertAfter(f"{_REQUEST}.remove();", True)
        handle.insertBefore(_BEFORE)

        factory = classes.get(_FACTORY)
        classes.add_field(factory, f"public static {_REWRITER} {_ADDED};")
        factory.getDeclaredMethod("init").insertAfter(f"{_PARSER}.QUERY_REWRITERS.add({_ADDED});")

        # Both before an object of ours looks at a class that would load them.
        loaded, with_rewriter = classes.load(delegate), classes.load(factory)
        request = loaded.getField(_REQUEST).get(None)
        loaded.getField(_CHECK).set(None, jpype.JObject(_Check(check), jpype.JClass(_FUNCTION)))
        rewriter = jpype.JObject(_Rewriter(version_of, request), jpype.JClass(_REWRITER))
        with_rewriter.getField(_ADDED).set(None, rewriter)
    except (jpype.JException, TypeError) as error:
        raise UnsupportedError(
            f"queries cannot be rewritten in this version of Pinot: {error}",
            expected="Pinot 0.11",
            remedy="run the broker without the hook upsert, and ask for upsert tables through the client",
        ) from error


def routed_segments(routing_manager: Any, table: str) -> set[str]:
    """Return the segments of a table (with type) that this broker queries now."""
    package = "org.apache.pinot.common.request"
    source = jpype.JClass(f"{package}.DataSource")()
    source.setTableName(table)
    query = jpype.JClass(f"{package}.PinotQuery")()
    query.setDataSource(source)
    query.setQueryOptions(jpype.JClass("java.util.HashMap")())
    request = jpype.JClass("org.apache.pinot.sql.parsers.CalciteSqlCompiler").convertToBrokerRequest(query)
    routing = routing_manager.getRoutingTable(request)
    if routing is None:
        return set()
    servers = routing.getServerInstanceToSegmentsMap()
    return {str(name) for names in servers.values() for name in names}


@jpype.JImplements(_REWRITER, deferred=True)
class _Rewriter:
    def __init__(self, version_of: Callable[[str, BrokerRequest | None], int | None], request: Any) -> None:
        self._version_of = version_of
        self._request = request
        self._conditions: dict[int, Any] = {}
        self._refused = jpype.JClass("org.apache.pinot.sql.parsers.SqlCompilationException")
        self._parser = jpype.JClass(_PARSER)
        self._utils = jpype.JClass("org.apache.pinot.common.utils.request.RequestUtils")

    @overrides
    def rewrite(self, query: Any) -> Any:
        """Add the condition; called in the thread that compiles a query, once for each SELECT in it."""
        source = query.getDataSource()
        if source is None or source.getSubquery() is not None:
            return query  # the SELECT within was here before
        name = str(source.getTableName()).rpartition(".")[2]
        try:
            version = self._version_of(name, self._present())
            if version is not None:
                self._add(query, version)
        except Exception as error:
            # Whatever went wrong, the query must not pass as it is.
            raise self._refused(_text(error)) from error
        return query

    def _present(self) -> BrokerRequest | None:
        kept = self._request.get()
        return None if kept is None else BrokerRequest(kept[0], kept[1], _Versions(kept[2]))

    def _add(self, query: Any, version: int) -> None:
        condition = self._conditions.get(version)
        if condition is None:
            condition = self._parser.compileToExpression(visible_at(version))
            # One is asked for again and again; of those before it a few, by queries of earlier versions.
            self._conditions = {version: condition}
        condition = condition.deepCopy()
        present = query.getFilterExpression()
        if present is not None:
            both = self._utils.getFunctionExpression("AND")
            both.getFunctionCall().addToOperands(present)
            both.getFunctionCall().addToOperands(condition)
            condition = both
        query.setFilterExpression(condition)


@jpype.JImplements(_FUNCTION, deferred=True)
class _Check:
    def __init__(self, check: Callable[[BrokerRequest], None]) -> None:
        self._check = check

    @overrides
    def apply(self, json: Any, sql_and_options: Any) -> Any:
        """Return why a query is refused, or null; called in the request's thread."""
        try:
            self._check(BrokerRequest(json, sql_and_options, {}))
        except Exception as error:  # noqa: BLE001  # whatever went wrong, the query must not pass as it is
            return _text(error)
        return None


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, PinotPluginError) else f"the hook upsert failed: {error!r}"


def _strings(java_map: Any) -> dict[str, str]:
    return {str(entry.getKey()): str(entry.getValue()) for entry in java_map.entrySet()}
