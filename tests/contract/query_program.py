"""Compares queries with their rewritten forms by Pinot's own parser; runs as a child process."""

from __future__ import annotations

import json
import sys
from typing import Any

import jpype

from jvm_bridge.jvm import start_jvm

_PARSER = "org.apache.pinot.sql.parsers.CalciteSqlParser"
_UTILS = "org.apache.pinot.common.utils.request.RequestUtils"


def main() -> None:
    """Read ``{condition, queries: [[original, rewritten]]}``; write the differences, null for none."""
    request: dict[str, Any] = json.load(sys.stdin)
    start_jvm()
    parser = jpype.JClass(_PARSER)
    condition = parser.compileToExpression(request["condition"])
    found = [_difference(parser, condition, *pair) for pair in request["queries"]]
    print(json.dumps(found))  # noqa: T201  # read by the test


def _difference(parser: Any, condition: Any, original: str, rewritten: str) -> str | None:
    try:
        before, expected = (parser.compileToPinotQuery(original) for _ in range(2))
        actual = parser.compileToPinotQuery(rewritten)
    except jpype.JException as error:
        return f"{error}"
    _add(expected, condition)
    for query in (before, expected, actual):
        _forget_text(query)
    same = actual.equals(expected) and not actual.equals(before)
    return None if same else f"expected {expected}, got {actual}"


def _add(query: Any, condition: Any) -> None:
    """Add a condition to the innermost SELECT, in the form of an AND as Pinot's parser builds it."""
    while query.getDataSource().getSubquery() is not None:
        query = query.getDataSource().getSubquery()
    present = query.getFilterExpression()
    both = jpype.JClass(_UTILS).getFunctionExpression("AND")
    for each in (*_operands(present), *_operands(condition)):
        both.getFunctionCall().addToOperands(each)
    query.setFilterExpression(both)


def _operands(expression: Any) -> list[Any]:
    """Return the operands of an AND; anything else is a single operand."""
    if expression is None:
        return []
    call = expression.getFunctionCall()
    return list(call.getOperands()) if str(call.getOperator()) == "AND" else [expression]


def _forget_text(query: Any) -> None:
    """Pinot additionally keeps the text of a SELECT in the FROM as a table name."""
    if query.getDataSource().getSubquery() is not None:
        query.getDataSource().setTableName("")


if __name__ == "__main__":
    main()
