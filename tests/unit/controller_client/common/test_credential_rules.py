"""Which addresses credentials belong to, whatever an address looks like."""

from __future__ import annotations

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util import parse_url

from controller_client.common.credential_rules import (
    AddressSource,
    Origin,
    check_encrypted,
    check_owner,
    may_go_beside,
    may_receive,
)
from controller_client.config import BearerToken, Secret
from controller_client.errors import ConfigError
from controller_client.rest.authorization import Authorization

HOME = "http://home:9000"
_PARTS = st.sampled_from(
    [
        *(HOME, "http://", "https://", "home", "evil", ":9000", ":80", ":", "@", "\\", "/", "//", "#", "?"),
        *("[", "]", "::1", ".", ";", "&", "%40", "%2f", " ", "\t", "\n", "\x00", "HOME", "\uff48ome"),
        "me:pw@",
    ]
)


@given(st.lists(_PARTS, max_size=9).map("".join))
def test_an_address_that_gets_credentials_is_the_one_that_is_connected_to(text: str) -> None:
    authorization = Authorization(BearerToken(Secret("hush")), (HOME,))
    try:
        request = requests.Request("GET", text, auth=authorization).prepare()
    except (requests.RequestException, ValueError):
        return
    if "Authorization" in request.headers:
        target = parse_url(str(request.url))
        assert (target.scheme, target.host, target.port) == ("http", "home", 9000)


@given(st.text(max_size=30) | st.lists(_PARTS, max_size=9).map("".join))
def test_an_address_is_an_origin_or_an_error_that_does_not_show_it(text: str) -> None:
    try:
        origin = Origin.of(text)
    except ValueError as error:
        shown = str(error)
    else:
        shown = ""
        assert origin.scheme in ("http", "https")
        assert origin.host == origin.host.lower() != ""
    assert shown in ("", "the address cannot be parsed", "the address is not http(s)://host[:port]/path")


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("http://home:9000", True),
        ("http://HOME:9000/tables?a=b", True),
        ("https://home:9000", False),
        ("http://home", False),
        ("http://home:9000@evil/", False),
        ("http://home.evil:9000", False),
        ("ftp://home:9000", False),
        ("home:9000", False),
    ],
)
def test_another_scheme_host_or_port_is_another_address(url: str, may: bool) -> None:
    assert may_receive(url, {Origin("http", "home", 9000)}) == may


def test_default_ports() -> None:
    assert Origin.of("https://home") == Origin("https", "home", 443)
    assert Origin.of("http://[::1]/x").url == "http://[::1]:80"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_credentials_of_https_need_tls(scheme: str, is_encrypted: bool) -> None:
    assert may_go_beside(scheme, is_encrypted=is_encrypted) == (is_encrypted or scheme == "http")
    url = "https://b" if is_encrypted else "http://b"
    if scheme == "https" and not is_encrypted:
        with pytest.raises(ConfigError, match="the broker http://b would get"):
            check_encrypted("broker", ["https://a", url], controller_scheme=scheme)
    else:
        check_encrypted("broker", [url], controller_scheme=scheme)


def test_an_owner_in_an_address_is_not_shown() -> None:
    check_owner("token", AddressSource("http://a,http://b", "here"), None)
    check_owner("token", AddressSource("http://B:80", "here"), AddressSource("http://a,http://b", "there"))
    with pytest.raises(ConfigError) as caught:
        check_owner(
            "token", AddressSource("http://me:hush@a", "here"), AddressSource("http://you:hush@b", "there")
        )
    assert "hush" not in str(caught.value)
    assert "here" in str(caught.value)
    assert "there" in str(caught.value)
