"""Links to Pinot's console can contain any name, and contain no credentials."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.console import Console


def test_links_to_table_segment_and_instance() -> None:
    console = Console("http://host:9000")
    assert console.table("t_OFFLINE") == "http://host:9000/#/tenants/table/t_OFFLINE"
    assert console.segment("t_OFFLINE", "s 1") == "http://host:9000/#/tenants/table/t_OFFLINE/s%201"
    assert console.instance("Server_a_8098") == "http://host:9000/#/instance/Server_a_8098"


def test_a_path_stays_and_credentials_do_not() -> None:
    console = Console("https://me:se@cret@host/pinot/")
    assert console.table("t") == "https://host/pinot/#/tenants/table/t"


@pytest.mark.parametrize("url", [None, "javascript:alert(1)//host", "file:///etc/passwd", "https://"])
def test_without_a_web_address_there_are_no_links(url: str | None) -> None:
    console = Console(url)
    assert (console.table("t"), console.segment("t", "s"), console.instance("i")) == (None, None, None)


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_name_is_one_part_of_the_path(table: str, segment: str) -> None:
    link = Console("http://host").segment(table, segment)
    assert link is not None
    assert link.isascii()
    assert not set(link) & set("<>\"' ")
    *_, first, second = urlsplit(link).fragment.split("/")
    assert (unquote(first), unquote(second)) == (table, segment)


def test_a_non_utf_8_name_is_not_an_error() -> None:
    assert Console("http://host").table("a\udcff") == "http://host/#/tenants/table/a%ED%B3%BF"
