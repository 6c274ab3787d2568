"""How a server finds the rows of a version, on Pinot 0.11 and on versions with a table manager provider.

Runs in the child process of a test; each class queries one segment as Pinot's own query executor does.
"""

from __future__ import annotations

from typing import Any, Protocol

import jpype

from controller_client.upsert.version_option import VERSIONS, option_text
from controller_client.upsert.visibility import visible_at
from server_hooks import table_managers
from server_hooks.upsert import classes_0_11
from server_hooks.upsert.version_filters_0_11 import install_filters
from tests.contract.upsert_segments import TABLE

__all__ = ["VersionAsker", "asker"]

_PLANS = "org.apache.pinot.core.plan"
_CONTEXTS = "org.apache.pinot.core.query.request.context.utils.QueryContextConverterUtils"


class VersionAsker(Protocol):
    """Requests the rows of a version."""

    def filter(self, segment: Any, version: int | None, where: str, *, skips: bool = False) -> Any:
        """Return a function that creates Pinot's operator for the rows.

        Args:
            segment: The segment.
            version: The version; None: a query without one.
            where: Further conditions, possibly none.
            skips: Whether the query requests all rows.
        """
        ...


def asker() -> VersionAsker:
    """Install the filters that this Pinot needs."""
    return _Options() if table_managers.have_plug_in_point() else _Conditions()


class _Nobody:
    """Ignores Pinot's notifications to the hook, which does not run here."""

    def before_add(self, table: Any, segment: Any) -> None: ...
    def consuming(self, table: Any, segment: str) -> None: ...
    def removed(self, table: Any, segment: str) -> None: ...
    def before_open(self) -> None: ...


class _Conditions:
    """A condition in the SQL, which our filters recognize."""

    def __init__(self) -> None:
        classes_0_11.install(_Nobody())
        install_filters()
        self._java = jpype.JClass("io.pinotplugins.v0_11.upsert.VersionFilters")

    def filter(self, segment: Any, version: int | None, where: str, *, skips: bool = False) -> Any:
        conditions = [where, "" if version is None else visible_at(version)]
        query = _query(" AND ".join(filter(None, conditions)), skips=skips)
        self._java.awaitVersion(query)  # as ServerQueryExecutorV1Impl.processQuery does
        return lambda: jpype.JClass(f"{_PLANS}.FilterPlanNode")(segment, query).run()


class _Options:
    """A query option, from which the table computes a bitmap for each segment."""

    def __init__(self) -> None:
        table_managers.load()
        self._java = jpype.JClass(f"{table_managers.PACKAGE}.UpsertQueries")

    def filter(self, segment: Any, version: int | None, where: str, *, skips: bool = False) -> Any:
        options = jpype.JClass("java.util.HashMap")()
        if version is not None:
            options.put(VERSIONS, option_text({TABLE: version}, where))
        if skips:
            options.put("skipUpsert", "true")
        query = _query(where, skips=skips)
        asked = None if self._java.areAllSeen(TABLE, options) else self._java.await_(TABLE, options)
        context = jpype.JClass("org.apache.pinot.segment.spi.SegmentContext")(segment)
        contexts = jpype.JClass("java.util.List").of(context)

        def make() -> Any:
            if asked is not None:
                self._java.filterRows(TABLE, contexts, asked)
            return jpype.JClass(f"{_PLANS}.FilterPlanNode")(context, query).run()

        return make


def _query(where: str, *, skips: bool) -> Any:
    condition = f"WHERE {where}" if where else ""
    option = "SET skipUpsert = true;" if skips else ""
    return jpype.JClass(_CONTEXTS).getQueryContext(f"{option} SELECT a FROM {TABLE} {condition}")
