"""Addresses and credentials: read from anywhere, shown nowhere."""

from __future__ import annotations

import base64
import pickle
from dataclasses import replace

import pytest

from controller_client import BrokerClient, ControllerClient
from controller_client.config import (
    BasicAuth,
    BearerToken,
    BrokerConfig,
    ControllerConfig,
    Secret,
    Tls,
)
from controller_client.errors import ConfigError


@pytest.mark.parametrize("token", ["abc\n", "Bearer abc", "ab\u00e9", "a\x00b", "a\udc80"])
def test_a_token_that_a_header_cannot_carry_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ConfigError, match="cannot carry") as caught:
        BearerToken(Secret(token))
    assert token not in str(caught.value)


def test_a_password_that_is_not_utf_8_is_sent_as_its_bytes() -> None:
    auth = BasicAuth("me", Secret("a\udcff"))
    assert auth.header() == "Basic " + base64.b64encode(b"me:a\xff").decode()


def test_a_secret_never_shows() -> None:
    config = ControllerConfig("http://h:9000", auth=BasicAuth("me", Secret("hidden")))
    for text in (repr(config), str(config), f"{config.auth}", repr(BearerToken(Secret("hidden")))):
        assert "hidden" not in text
    assert "hidden" not in repr(ControllerClient(config))
    again = pickle.loads(pickle.dumps(config))  # noqa: S301
    assert again == config
    assert again.auth.password.reveal() == "hidden"


def test_clients_take_addresses_alone() -> None:
    controller = "http://h:9000, http://i:9000"
    with ControllerClient(controller) as client:
        assert client.config == ControllerConfig(controller)
        assert repr(client) == "ControllerClient('http://h:9000,http://i:9000')"
    for brokers in ("http://h:8099,http://i:8099", ["http://h:8099", "http://i:8099"]):
        with BrokerClient(brokers) as broker:
            assert broker.config == BrokerConfig(("http://h:8099", "http://i:8099"))
    for client_class in (ControllerClient, BrokerClient):
        with pytest.raises(ConfigError, match="http"):
            client_class("h:9000")


def test_credentials_in_an_address_are_moved_out() -> None:
    config = ControllerConfig("https://me:p%40ss@pinot.example:9000/base/")
    assert config.url == "https://pinot.example:9000/base"
    assert config.auth == BasicAuth("me", Secret("p@ss"))
    assert "p@ss" not in repr(config)


def test_credentials_in_two_places_are_refused() -> None:
    with pytest.raises(ConfigError, match="others are given"):
        ControllerConfig("http://me:pw@h", auth=BearerToken(Secret("t")))


@pytest.mark.parametrize(
    "url", ["", "localhost:9000", "ftp://h", "http://", "http://h:port", "http://a:pw@h:x", "http://h?a=b"]
)
def test_a_wrong_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ControllerConfig(url)
    assert "pw" not in str(caught.value)
    assert "http://localhost:9000" in str(caught.value)
    assert caught.value.__cause__ is None


def test_ipv6_addresses() -> None:
    assert ControllerConfig("http://[::1]:9000").url == "http://[::1]:9000"


def test_several_controllers() -> None:
    config = ControllerConfig("http://admin:a,b@one:9000/, http://two:9000")
    assert config.urls == ("http://one:9000", "http://two:9000")
    assert config.url == "http://one:9000,http://two:9000"
    assert config.auth == BasicAuth("admin", Secret("a,b"))
    assert replace(config, url="http://three:9000").urls == ("http://three:9000",)
    with pytest.raises(ConfigError, match="some controller URLs use http and others https"):
        ControllerConfig("https://one:9000,http://two:9000")


def test_the_environment() -> None:
    environ = {
        "PINOT_CONTROLLER_URL": "https://h:9000",
        "PINOT_USERNAME": "me",
        "PINOT_PASSWORD": "pw",
        "PINOT_CA_FILE": "/ca.pem",
        "PINOT_TLS_VERIFY": "FALSE",
        "PINOT_READ_TIMEOUT_S": "2.5",
        "PINOT_BROKER_URL": "https://a:1, https://b:2",
    }
    config = ControllerConfig.from_env(environ=environ)
    assert config.auth == BasicAuth("me", Secret("pw"))
    assert config.tls == Tls(ca_file="/ca.pem", verify=False)
    assert config.read_timeout_s == 2.5
    named = {"PINOT_CONTROLLER_URL": "https://h:9000"}
    assert ControllerConfig.from_env("http://other", environ=named).url == "http://other"
    brokers = BrokerConfig.from_env(environ=environ)
    assert brokers is not None
    assert brokers.urls == ("https://a:1", "https://b:2")
    assert BrokerConfig.from_env(environ={}) is None
    assert BrokerConfig.like(config, ("https://a:1",)).auth == config.auth


def test_credentials_of_the_environment_are_for_its_addresses() -> None:
    environ = {
        "PINOT_CONTROLLER_URL": "http://one:9000,http://two:9000",
        "PINOT_BROKER_URL": "http://b:8099",
        "PINOT_TOKEN": "hush",
    }
    assert ControllerConfig.from_env("http://TWO:9000/", environ=environ).auth is not None
    for other in ("http://other:9000", "http://one:9001", "http://one:9000,http://other"):
        with pytest.raises(ConfigError, match="belongs to http://one:9000,http://two:9000") as caught:
            ControllerConfig.from_env(other, environ=environ)
        assert "hush" not in str(caught.value)
    with pytest.raises(ConfigError, match="PINOT_BROKER_URL"):
        BrokerConfig.from_env(("http://other",), environ=environ)
    del environ["PINOT_CONTROLLER_URL"]
    assert ControllerConfig.from_env("http://anywhere:9000", environ=environ).auth is not None


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("token", [None, "hush"])
def test_brokers_beside_https_get_credentials_by_https_only(scheme: str, token: str | None) -> None:
    environ = {"PINOT_CONTROLLER_URL": f"{scheme}://c:9000", "PINOT_BROKER_URL": "http://b:8099"}
    if token:
        environ["PINOT_TOKEN"] = token
    if token and scheme == "https":
        with pytest.raises(ConfigError, match="http://b:8099 would get the credentials"):
            BrokerConfig.from_env(environ=environ)
    else:
        made = BrokerConfig.from_env(environ=environ)
        assert made is not None
        assert made.urls == ("http://b:8099",)
    with pytest.raises(ConfigError, match="some broker URLs use http and others https"):
        BrokerConfig(("https://a", "http://b"))


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({}, "PINOT_CONTROLLER_URL"),
        ({"PINOT_TOKEN": "t", "PINOT_USERNAME": "u"}, "PINOT_TOKEN"),
        ({"PINOT_TLS_VERIFY": "maybe"}, "PINOT_TLS_VERIFY"),
        ({"PINOT_CONNECT_TIMEOUT_S": "soon"}, "PINOT_CONNECT_TIMEOUT_S"),
    ],
)
def test_a_wrong_variable_is_named(environ: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        ControllerConfig.from_env("http://h" if environ else None, environ=environ)


def test_times_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="timeout"):
        ControllerConfig("http://h", read_timeout_s=0)
    with pytest.raises(ConfigError, match="no broker"):
        BrokerConfig(())
