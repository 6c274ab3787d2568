"""Rewrites queries of upsert tables so that they see one version.

The SQL is parsed only to find where to insert the condition; everything else stays as written. A query that
cannot be parsed is refused if it names an upsert table, and otherwise passed through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from controller_client.common.sql_text import SqlText, Token, TokenKind
from controller_client.errors import QueryError
from controller_client.upsert.columns import visible_at

__all__ = ["RefusedQueryError", "VersionOf", "options_in", "rewrite"]

VersionOf = Callable[[str], int | None]
"""Returns the version to query a table at, given its name in the query without a database; None if it is not
an upsert table. May raise an error to refuse the query."""

_TYPE = "_REALTIME"
"""The suffix of every upsert table's name."""

_AFTER_WHERE = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH", "OPTION")


class RefusedQueryError(QueryError):
    """The query would not be answered at one version of an upsert table, so it is not sent."""


@dataclass(frozen=True)
class _Edit:
    """Text to insert into the original, or to replace a piece of it."""

    start: int
    end: int
    text: str


class _Tables(NamedTuple):
    version_of: VersionOf
    exists: Callable[[str], bool]
    in_servers: bool = False
    """Whether servers compile the query: they know tables only by name with type."""


class _NotUnderstoodError(Exception):
    """The statement is not one plain SELECT; it may not even name an upsert table."""


def _any_word(_name: str) -> bool:
    return True


def rewrite(sql: str | SqlText, version_of: VersionOf, *, exists: Callable[[str], bool] = _any_word) -> str:
    """Restrict a query to the rows of one version of its upsert tables.

    Args:
        sql: One SELECT for the single-stage engine. Also allowed: ``SET k = v;`` before it and
            ``OPTION(...)`` after it, EXPLAIN PLAN FOR, a SELECT in the FROM clause, and queries as arguments
            of IN_SUBQUERY.
        version_of: Called for each table that the query reads; for a query that cannot be parsed, for each
            word that may be a table's name.
        exists: Whether a word may be a table's name; must be cheap, because it is called for each word of a
            query that cannot be parsed.

    Raises:
        RefusedQueryError: It names an upsert table and cannot be parsed.
        QueryError: Its quotes or parentheses do not match.
    """
    return _rewritten(SqlText.of(sql), _Tables(version_of, exists))


def _rewritten(cut: SqlText, tables: _Tables) -> str:
    version_of, exists = tables.version_of, tables.exists
    try:
        edits = list(_edits_of_text(cut.tokens, tables))
    except (_NotUnderstoodError, RecursionError) as error:
        words = dict.fromkeys(token.text for token in cut.tokens if token.is_name)
        named = next((word for word in words if _is_upsert_table(word, version_of, exists)), None)
        if named is not None:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise RefusedQueryError(
                f"the query of the upsert table {named} cannot be answered at one version: {why}",
                expected="SELECT ... FROM table [WHERE ...] [GROUP BY ...] and so on, reading one table",
                remedy="rewrite it in that form, or send it unchanged with the query option skipUpsert=true",
            ) from None
        return cut.text
    text = cut.text
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def options_in(sql: str | SqlText) -> dict[str, str]:
    """Return the query options in a text, from ``SET k = v;`` and ``OPTION(k = v, ...)``.

    Raises:
        QueryError: Its quotes or parentheses do not match.
    """
    options: dict[str, str] = {}
    for statement in _statements(SqlText.of(sql).tokens):
        if statement[0].is_word("SET"):
            options.update(_pairs(statement[1:]))
        for number, token in enumerate(statement):
            if token.is_word("OPTION") and token.depth == 0:
                options.update(_pairs(statement[number + 2 : -1]))
    return options


def _pairs(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    for number, token in enumerate(tokens):
        if token.is_sign("=") and 0 < number < len(tokens) - 1:
            yield tokens[number - 1].text, tokens[number + 1].text


def _statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    current: list[Token] = []
    for token in tokens:
        if not token.is_sign(";"):
            current.append(token)
        elif current:
            yield current
            current = []
    if current:
        yield current


def _edits_of_text(tokens: Sequence[Token], tables: _Tables) -> Iterator[_Edit]:
    queries = [statement for statement in _statements(tokens) if not statement[0].is_word("SET")]
    if len(queries) != 1:
        raise _NotUnderstoodError(f"it has {len(queries)} statements")
    query = queries[0]
    if query[0].is_word("EXPLAIN"):
        begin = next((n for n, token in enumerate(query) if token.is_word("SELECT")), len(query))
        query = query[begin:]
    yield from _edits_of_select(query, tables)


def _edits_of_select(query: list[Token], tables: _Tables) -> Iterator[_Edit]:
    if not query or not query[0].is_word("SELECT"):
        raise _NotUnderstoodError("it does not begin with SELECT")
    depth = query[0].depth
    top = [(number, token) for number, token in enumerate(query) if token.depth == depth]
    begin = next((number for number, token in top if token.is_word("FROM")), None)
    if begin is None:
        if any(token.is_word("SELECT") for token in query[1:]):
            raise _NotUnderstoodError("it has a SELECT in a SELECT")
        return
    _no_select_in(query[1:begin])
    if begin + 1 >= len(query):
        raise _NotUnderstoodError("nothing comes after FROM")
    yield from _edits_of_subqueries(query[:begin], tables)
    if query[begin + 1].is_sign("("):
        rest = next(n for n, token in top if n > begin + 1 and token.is_sign(")")) + 1
        yield from _edits_of_select(query[begin + 2 : rest - 1], tables)
        version = None
    else:
        rest, name = _table_name(query, begin + 1)
        version = tables.version_of(name)
    where, end = _where(query, rest, depth)
    _no_select_in(query[rest:])
    yield from _edits_of_subqueries(query[rest:], tables)
    if version is not None:
        yield from _condition(query, rest, where, end, version)
        # After the condition, which may be inserted at the same position.
        if tables.in_servers and not query[rest - 1].text.lower().endswith(_TYPE.lower()):
            position = query[rest - 1].end - (query[rest - 1].kind is TokenKind.QUOTED)
            yield _Edit(position, position, _TYPE)


def _condition(query: list[Token], rest: int, where: int | None, end: int, version: int) -> Iterator[_Edit]:
    condition = visible_at(version)
    if where is None:
        position = query[rest - 1].end
        yield _Edit(position, position, f" WHERE {condition}")
        return
    first, last = query[where + 1].start, query[end - 1].end
    yield _Edit(first, first, "(")
    yield _Edit(last, last, f") AND {condition}")


def _table_name(query: list[Token], begin: int) -> tuple[int, str]:
    """Return the position after a table's name, and the name's last part."""
    position = begin
    while True:
        if position >= len(query) or not query[position].is_name:
            raise _NotUnderstoodError("no table's name comes after FROM")
        name = query[position].text.rpartition(".")[2]
        position += 1
        if position >= len(query) or not query[position].is_sign("."):
            return position, name
        position += 1


def _where(query: list[Token], rest: int, depth: int) -> tuple[int | None, int]:
    """Return where WHERE is and where its condition ends; it must come directly after the table."""
    end = next(
        (n for n in range(rest, len(query)) if query[n].depth == depth and query[n].is_word(*_AFTER_WHERE)),
        len(query),
    )
    if end == rest:
        return None, end
    if not query[rest].is_word("WHERE"):
        raise _NotUnderstoodError(
            f"{query[rest].text!r} comes after the table: aliases, joins and other tables are not allowed"
        )
    strange = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "WINDOW", "QUALIFY", "WHERE", "FROM", "JOIN")
    for token in query[rest + 1 :]:
        if token.depth == depth and token.is_word(*strange):
            raise _NotUnderstoodError(f"it has {token.text}")
    if end == rest + 1:
        raise _NotUnderstoodError("nothing comes after WHERE")
    return rest, end


def _no_select_in(tokens: list[Token]) -> None:
    if any(token.is_word("SELECT") for token in tokens):
        raise _NotUnderstoodError("it has a SELECT in a SELECT")


def _edits_of_subqueries(tokens: list[Token], tables: _Tables) -> Iterator[_Edit]:
    """Yield the edits of queries in the arguments of IN_SUBQUERY and IN_PARTITIONED_SUBQUERY."""
    for number, token in enumerate(tokens):
        function = token.text.lower().replace("_", "") if token.is_name else ""
        if not (function.startswith("in") and function.endswith("subquery")):
            continue
        for argument in tokens[number + 2 :]:
            if argument.depth <= token.depth:
                break
            if argument.kind is TokenKind.STRING and argument.depth == token.depth + 1:
                inside = tables._replace(in_servers="partitioned" in function)
                inner = _rewritten(SqlText.of(argument.text), inside)
                yield _Edit(argument.start, argument.end, "'" + inner.replace("'", "''") + "'")


def _is_upsert_table(word: str, version_of: VersionOf, exists: Callable[[str], bool]) -> bool:
    name = word.rpartition(".")[2]
    if not exists(name):
        return False
    try:
        return version_of(name) is not None
    except QueryError:
        return True  # it is an upsert table, refused for another reason
