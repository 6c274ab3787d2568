"""Which segments a broker queries, as its own routing has it."""

from __future__ import annotations

from typing import Any

import jpype

__all__ = ["routed_segments"]

_REQUEST = "org.apache.pinot.common.request"


def routed_segments(routing_manager: Any, table: str) -> set[str]:
    """Return the segments of a table (with type) that a broker queries now.

    Those that a server may leave out (new ones, on later Pinots) are not among them.
    """
    source = jpype.JClass(f"{_REQUEST}.DataSource")()
    source.setTableName(table)
    query = jpype.JClass(f"{_REQUEST}.PinotQuery")()
    query.setDataSource(source)
    query.setQueryOptions(jpype.JClass("java.util.HashMap")())
    request = jpype.JClass("org.apache.pinot.sql.parsers.CalciteSqlCompiler").convertToBrokerRequest(query)
    try:
        routing = routing_manager.getRoutingTable(request)
    except TypeError:  # later Pinots number their requests
        routing = routing_manager.getRoutingTable(request, jpype.JLong(0))
    if routing is None:
        return set()
    of_servers = routing.getServerInstanceToSegmentsMap().values()
    return {
        str(name)
        for each in of_servers
        for name in (each.getSegments() if hasattr(each, "getSegments") else each)
    }
