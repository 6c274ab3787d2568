from __future__ import annotations

import pytest

from controller_client.common.sql_text import table_names
from controller_client.errors import QueryError
from controller_client.upsert.columns import visible_at
from controller_client.upsert.rewriting import RefusedQueryError, options_in, rewrite

CONDITION = visible_at(7)


def version_of(name: str) -> int | None:
    return 7 if name in ("u", "my table") else None


def done(sql: str) -> str:
    return rewrite(sql, version_of).replace(CONDITION, "#")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from u", "select * from u WHERE #"),
        ("select * from u;", "select * from u WHERE #;"),
        ("select * from u -- all\n", "select * from u WHERE # -- all\n"),
        ("select * from db.u limit 5", "select * from db.u WHERE # limit 5"),
        (
            'select * from "my table" /* x */ limit 1, 5',
            'select * from "my table" WHERE # /* x */ limit 1, 5',
        ),
        ("select a from u where a=1 or b=2", "select a from u where (a=1 or b=2) AND #"),
        ("select a from u where a = 1 -- why", "select a from u where (a = 1) AND # -- why"),
        (
            "select a, sum(b) from u where x in (1) group by a having sum(b) > 1 order by a limit 3",
            "select a, sum(b) from u where (x in (1)) AND # group by a having sum(b) > 1 order by a limit 3",
        ),
        ("SET x='from u'; select 1 from u;", "SET x='from u'; select 1 from u WHERE #;"),
        ("select 1 from u option(timeoutMs=5)", "select 1 from u WHERE # option(timeoutMs=5)"),
        ("EXPLAIN PLAN FOR select 1 from u", "EXPLAIN PLAN FOR select 1 from u WHERE #"),
        (
            "select 'where' from u where a='group by '' x' group by a",
            "select 'where' from u where (a='group by '' x') AND # group by a",
        ),
        (
            'select "limit" from u where "order" = 1 order by b',
            'select "limit" from u where ("order" = 1) AND # order by b',
        ),
        ("select extract(year from ts) from u", "select extract(year from ts) from u WHERE #"),
        ("select /* from x */ a from u", "select /* from x */ a from u WHERE #"),
        (
            "select a from (select a, b from u where b = 1) where a > 2 limit 1",
            "select a from (select a, b from u where (b = 1) AND #) where a > 2 limit 1",
        ),
        ("select a from (select a from u) limit 1", "select a from (select a from u WHERE #) limit 1"),
        ("select a from other", "select a from other"),
        (
            "select a from other o join third t on o.a = t.a",
            "select a from other o join third t on o.a = t.a",
        ),
        ("select 1", "select 1"),
    ],
)
def test_the_rest_of_the_query_stays(sql: str, expected: str) -> None:
    assert done(sql) == expected


def test_the_query_in_a_string_is_rewritten_too() -> None:
    text = "select a from other where in_subquery(k, 'select idset(k) from u where c = ''x''') = 1"
    inner = rewrite("select idset(k) from u where c = 'x'", version_of).replace("'", "''")
    assert rewrite(text, version_of) == f"select a from other where in_subquery(k, '{inner}') = 1"
    both = "select a from u where inPartitionedSubquery(k, 'select idset(k) from u') = 1"
    # Servers compile the inner query: they know tables only by name with type.
    inner = "select idset(k) from u_REALTIME WHERE #"
    assert done(both) == f"select a from u where (inPartitionedSubquery(k, '{inner}') = 1) AND #"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ('select idset(k) from "u" where a > 1', 'select idset(k) from "u_REALTIME" where (a > 1) AND #'),
        ("select idset(k) from other", "select idset(k) from other"),
    ],
)
def test_the_query_that_servers_compile_names_its_table_with_type(inner: str, expected: str) -> None:
    text = "select a from other where in_partitioned_subquery(k, '{}') = 1"
    assert done(text.format(inner)) == text.format(expected)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from u as x",
        "select * from u x where a = 1",
        "select * from u, other",
        "select * from other join u on other.a = u.a",
        "select * from other where a in (select a from u)",
        "select a from u union select a from other",
        "select a from u where a = 1 union all select a from other",
        "with x as (select a from u) select a from x",
        "select a from u where a = 1; select a from u",
        "select (select max(a) from u) from other",
        "insert into u values (1)",
        "select a from u where",
        "select a from (select a from u) as x",
        "select count(*) from other where in_subquery(a, 'select idset(a) from u as x') = 1",
    ],
)
def test_a_query_that_cannot_be_parsed_is_refused(sql: str) -> None:
    with pytest.raises(RefusedQueryError, match="upsert table u"):
        rewrite(sql, version_of)
    assert rewrite(sql.replace("u", "v"), version_of) == sql.replace("u", "v")


@pytest.mark.parametrize(
    "sql", ["select 'a from u", 'select "a from u', "select (1 from u", "select 1) from u", "select /* 1"]
)
def test_an_unterminated_query_is_refused(sql: str) -> None:
    with pytest.raises(QueryError):
        rewrite(sql, version_of)


def test_a_comment_does_not_nest() -> None:
    """As in Pinot; with nesting, one of the two would overlook a part of the query."""
    assert done("select a /* /* */ from u -- */") == "select a /* /* */ from u WHERE # -- */"


def test_version_of_may_refuse() -> None:
    def refuse(name: str) -> int | None:
        raise RefusedQueryError(f"no {name}")

    with pytest.raises(RefusedQueryError, match="no u"):
        rewrite("select a from u", refuse)


def test_version_of_is_not_called_for_words_that_are_not_tables() -> None:
    asked = []

    def version_of(name: str) -> int | None:
        asked.append(name)
        return 7 if name == "v" else None

    words = ", ".join(f"c{number}" for number in range(100))
    sql = f"select {words}, x.a from t as x join v on x.a = v.a"
    assert rewrite(sql, version_of, exists=lambda name: name == "w") == sql
    assert asked == ["t"], "only the word after FROM"
    with pytest.raises(RefusedQueryError, match="upsert table v"):
        rewrite(sql, version_of, exists=lambda name: name == "v")
    assert asked == ["t", "t", "v"]


def test_a_query_that_is_nested_too_deeply_is_refused() -> None:
    sql = "select a from (" * 2_000 + "select a from u" + ")" * 2_000
    with pytest.raises(RefusedQueryError, match="nested too deeply"):
        rewrite(sql, version_of)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select * from a", ["a"]),
        ('select * from db."b c" join db.d_OFFLINE on x = y', ["b c", "d_OFFLINE"]),
        ("select 'from x' from (select y from z) -- from w", ["z"]),
        ("select 1", []),
        ("select * from", []),
        ("select * from a union select * from a", ["a"]),
    ],
)
def test_names_of_tables(sql: str, names: list[str]) -> None:
    assert table_names(sql) == names


def test_options() -> None:
    assert options_in(
        "SET a = 'b'; SET c=1; select x = y from t where a = 'SET q=1' option(d=true, e = 5)"
    ) == {
        "a": "b",
        "c": "1",
        "d": "true",
        "e": "5",
    }
    assert options_in("select 1 from t") == {}
