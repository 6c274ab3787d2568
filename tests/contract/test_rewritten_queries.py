"""For Pinot's own parser, a rewritten query equals the original query with the condition added."""

from __future__ import annotations

from typing import Any

import jpype
import pytest

from controller_client.upsert.columns import visible_at
from controller_client.upsert.rewriting import rewrite
from jvm_bridge.java_errors import JAVA_ERRORS
from tests.contract.segment_child import SegmentChild

pytestmark = pytest.mark.jvm

QUERIES = [
    "select * from u",
    "SELECT * FROM u;",
    "select count(*) from db.u limit 1, 5",
    'select "a b", c d, e as "from" from u where "a b" = \'it\'\'s where\' or c <> 1 and d != 2 offset 3',
    "select distinct a, b from u order by a desc, b limit 7",
    "select a, sum(b) from u where x in (1, 2) and not y like '%a' and z between 1 and 2 group by a",
    "select a from u group by a having sum(b) > 1 and count(*) < 9 order by sum(b) desc limit 3 offset 4",
    "select count(distinct c) from u",
    "select sum(b) filter (where c > 1), max(d) from u where e is not null or f is null",
    "select case when a = 1 then 'x' when b > 2 then 'y' else 'z' end from u where a = 1",
    "select cast(a as LONG), cast(b as string) from u",
    "select datetrunc('day', ts, 'MILLISECONDS'), -a + b * 2 / 3 % 5, 1.5e3, mod(a, 2) from u where a = -1",
    "select year(ts), dayofweek(ts, 'UTC') from u where ts > fromDateTime('2021-01-01', 'yyyy-MM-dd')",
    "select mapValue(k, 'x', v), arr[1], jsonExtractScalar(j, '$.a[0]', 'STRING', 'none') from u",
    "select lookup('dim', 'n', 'k', x) from u where regexp_like(s, '^a.$')",
    "select a from u where text_match(t, '\"a b\" OR c*')",
    "select percentileest(a, 95), distinctcounthll(b), lastwithtime(c, ts, 'LONG'), idset(d) from u",
    "select json_match(j, '\"$.a\"=''b''') from u where json_match(j, '\"$.a\"=''b''')",
    "select $docId, $segmentName from u where $hostName = 'h'",
    "select a from u -- where b = 1\nwhere c = 1 -- and d = 1",
    "select /* from v */ a from u /* where */ where b = 1 /* group by c */ group by a",
    "select a from u where a = 'limit' and b in ('group by', 'option(x=1)') limit 5",
    "select 'é😀', a from u where b = '😀' group by a",
    "SET timeoutMs = 5; SET useStarTree = 'false'; select a from u where b = 1;",
    "select a from u where (b = 1) option(timeoutMs=5, skipUpsert=false)",
    "select a from u option(timeoutMs=5)",
    "select a from (select a, sum(b) as s from u where c = 1 group by a) where s > 2 limit 1",
    "select substr(a, 1), concat(a, b, '|'), coalesce(a, b) from u where not (a = 1)",
    "select st_distance(p, ST_GeogFromText('POINT (1 2)')) from u where st_contains(g, p) = 1",
    'select "date", "timestamp", "limit" from u where "order" = 1 and "group" in (1) order by "date"',
]
VERSION = 7
_UTILS = "org.apache.pinot.common.utils.request.RequestUtils"


def test_pinots_parser_finds_the_same_query_with_the_condition(child: SegmentChild) -> None:
    assert child.call(differences) == {}


def differences() -> dict[str, str]:
    """In the child: compare the queries with their rewritten forms."""
    parser = jpype.JClass("org.apache.pinot.sql.parsers.CalciteSqlParser")
    found = {sql: _difference(parser, sql) for sql in QUERIES}
    return {sql: difference for sql, difference in found.items() if difference}


def _difference(parser: Any, sql: str) -> str | None:
    rewritten = rewrite(sql, lambda name: VERSION if name == "u" else None)
    try:
        before, expected = (parser.compileToPinotQuery(sql) for _ in range(2))
        actual = parser.compileToPinotQuery(rewritten)
    except JAVA_ERRORS as error:
        return f"{error}"
    _add(expected, parser.compileToExpression(visible_at(VERSION)))
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
