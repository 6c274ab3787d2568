"""SQL split at its semicolons."""

from __future__ import annotations

import pytest

from controller_client.common.sql_text import is_whole, statements
from controller_client.errors import QueryError


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("", []),
        (" ;; -- nothing\n ", []),
        ("select 1", ["select 1"]),
        ("select ';' ; -- a;\n select \";\" /* ; */ ;", ["select ';'", 'select ";"']),
        (
            "set a = 1; set b = 'x;'; select 1; select 2",
            ["set a = 1; set b = 'x;'; select 1", "select 2"],
        ),
        ("select 1; set a = 1;", ["select 1", "set a = 1"]),
        ("-- what it is\nselect 1 -- end\n;", ["select 1"]),
    ],
)
def test_statements(sql: str, found: list[str]) -> None:
    assert statements(sql) == found


def test_unterminated_statements_are_refused() -> None:
    with pytest.raises(QueryError, match="cannot be parsed"):
        statements("select 1; select 'a")


@pytest.mark.parametrize(
    ("sql", "whole"),
    [
        ("select 1", False),
        ("select 1;", True),
        ("select 1; -- done\n ", True),
        ("select ';", False),
        ("select ';'", False),
        ("select 1 /* ; ", False),
        ("select (1;", True),
        ("", False),
    ],
)
def test_whole(sql: str, whole: bool) -> None:
    assert is_whole(sql) is whole
