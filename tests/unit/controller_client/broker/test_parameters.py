"""Parameters replace their placeholders with literals, and nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.broker.client import BrokerClient
from controller_client.broker.parameters import bind, literal
from controller_client.common.sql_text import SqlText, TokenKind
from controller_client.errors import ConfigError, QueryError
from tests.unit.controller_client.broker.test_client import document
from tests.unit.controller_client.scripted_server import ScriptedServer, answer


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("it's", "'it''s'"),
        ("", "''"),
        ("a''b", "decodeUrl('a%27%27b')"),
        ("Option (x=1)", "decodeUrl('Option%20%28x%3D1%29')"),
        (7, "7"),
        (-7, " -7"),
        (2**63, f"'{2**63}'"),
        (True, "true"),
        (0.1, "0.1"),
        (-1e300, " -1E+300"),
        (5.0, "5.0"),
        (Decimal("0.10"), "0.10"),
        (Decimal("1E+3"), "1000"),
        (Decimal("12345678901234567890.5"), "'12345678901234567890.5'"),
        (Decimal("1E+100"), f"'1{'0' * 100}'"),
        (Decimal("-1.5"), " -1.5"),
        (datetime(2023, 11, 14, 22, 13, 20, 123000, UTC), "1700000000123"),
        (datetime(2023, 11, 14, 22, 13, 20), "1700000000000"),  # noqa: DTZ001  # UTC without a zone
        (datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), " -1"),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "0"),
        (date(1970, 1, 2), "86400000"),
        (b"\x00\xff", "hexToBytes('00ff')"),
    ],
)
def test_literals(value: Any, written: str) -> None:
    assert literal(value) == written


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "None has no literal"),
        (float("nan"), "nan has no literal"),
        (Decimal("Infinity"), "Infinity has no literal"),
        (datetime(2023, 1, 1, 0, 0, 0, 1, UTC), "microseconds"),
        ("\ud800", "lone surrogate"),
        ({}, "type dict has no literal"),
        ([], "the list is empty"),
        ([1], "a list is used in place of a single value"),
    ],
)
def test_values_without_a_literal(value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"the parameter x: .*{message}"):
        bind("select * from t where a = :x", {"x": value})


def test_names_are_replaced_only_outside_quotes_and_comments() -> None:
    sql = """select ':a', ":a" from t -- :a
        where /* :a ' */ b = :a and c in (:b) and d like '%:a' and e=:a_1 and f in (1, :b)"""
    assert bind(sql, {"a": ":b", "b": ["x", 2], "a_1": 3}) == (
        """select ':a', ":a" from t -- :a
        where /* :a ' */ b = ':b' and c in ('x', 2) and d like '%:a' and e=3 and f in (1, 'x', 2)"""
    )
    assert bind("select a-:n from t", {"n": -1}) == "select a- -1 from t"
    assert bind("select json_object('k' : a), x::int from t where a=:a", {"a": 1}).endswith("a=1")


@pytest.mark.parametrize(
    ("sql", "params", "message"),
    [
        ("select :nam from t", {"name": 1}, r":nam has no value\n.*\n.*did you mean name"),
        ("select :a from t", {"a": 1, "b": 2}, "no placeholder :b"),
        ("select 1 from t // :a", {"a": 1}, "comment that starts with //"),
        ("select E'a' from t where b = :a", {"a": 1}, "string with escapes"),
    ],
)
def test_refused_parameters(sql: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        bind(sql, params)


def test_an_unclosed_quote_is_refused() -> None:
    with pytest.raises(QueryError, match="cannot be parsed"):
        bind("select 'a from t where b = :b", {"b": 1})


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_string_stays_one_token_and_is_read_back(text: str) -> None:
    """No string can close its quotes or open a comment."""
    tokens = SqlText.of(bind("select a from t where b = :b -- c\n and d = 1", {"b": text})).tokens
    words = [token.text for token in tokens if token.kind is TokenKind.WORD]
    strings = [token.text for token in tokens if token.kind is TokenKind.STRING]
    assert " ".join(word for word in words if word != "decodeUrl") == "select a from t where b and d"
    (string,) = strings
    if "decodeUrl" in words:
        string = unquote(string, errors="strict")
    assert string == text


def test_a_query_sends_literals() -> None:
    with ScriptedServer(answer(200, document()), answer(200, document())) as server:
        with BrokerClient([server.url]) as broker:
            broker.query("select 1 from t where a = :a", params={"a": "x'y"})
            broker.query("select ':a' from t where b = ':b'")
        assert [seen.json()["sql"] for seen in server.requests] == [
            "select 1 from t where a = 'x''y'",
            "select ':a' from t where b = ':b'",
        ]
