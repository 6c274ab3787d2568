"""For Pinot's own parser, a rewritten query equals the original query with the condition added."""

from __future__ import annotations

import pytest

from controller_client.upsert.rewriting import rewrite
from controller_client.upsert.visibility import visible_at
from tests.support.program import result_of

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


def test_pinots_parser_finds_the_same_query_with_the_condition() -> None:
    rewritten = [rewrite(sql, lambda name: VERSION if name == "u" else None) for sql in QUERIES]
    condition = visible_at(VERSION)
    request = {"condition": condition, "queries": list(zip(QUERIES, rewritten, strict=True))}
    found = result_of("tests.contract.query_program", request)
    assert {sql: difference for sql, difference in zip(QUERIES, found, strict=True) if difference} == {}
