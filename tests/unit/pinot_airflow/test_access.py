"""Cluster addresses from Airflow connections; without Airflow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_client.config import BasicAuth, BearerToken, Secret
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from pinot_airflow.access import ClusterAddress, PinotAccess


@dataclass
class StubConnection:
    """The fields of an Airflow connection that are read."""

    conn_id: str = "pinot_default"
    host: str | None = "controller"
    port: int | None = None
    schema: str | None = None
    login: str | None = None
    password: str | None = None
    extra_dejson: dict[str, Any] = field(default_factory=dict)


def address(**fields: Any) -> ClusterAddress:
    return ClusterAddress.of(StubConnection(**fields))  # type: ignore[arg-type]


def test_a_minimal_and_a_full_connection() -> None:
    minimal = address()
    assert (minimal.controller.url, minimal.controller.auth, minimal.brokers) == (
        "http://controller:9000",
        None,
        (),
    )
    full = address(
        schema="https",
        port=9443,
        login="me",
        password="hush",
        extra_dejson={
            "broker": "http://a:8099, http://b:8099",
            "zookeeper": "zk:2181/pinot",
            "cluster_name": "C",
            "ca_file": "/etc/ca.pem",
            "tls_verify": False,
            "read_timeout_s": "7.5",
        },
    )
    assert full.controller.url == "https://controller:9443"
    assert isinstance(full.controller.auth, BasicAuth)
    assert (full.controller.tls.ca_file, full.controller.tls.verify) == ("/etc/ca.pem", False)
    assert (full.controller.read_timeout_s, full.controller.connect_timeout_s) == (7.5, 5.0)
    assert full.brokers == ("http://a:8099", "http://b:8099")
    assert (full.zookeeper, full.cluster_name) == ("zk:2181/pinot", "C")
    assert address(host="https://gate/pinot").controller.url == "https://gate/pinot"
    assert address(host="one, two", port=1).controller.urls == ("http://one:1", "http://two:1")


def test_access_to_zookeeper() -> None:
    assert address().access is None, "taken from the environment"
    given = {"zookeeper_auth": "digest", "zookeeper_username": "me", "zookeeper_password": "hush"}
    found = address(extra_dejson=given)
    assert found.access == ZooKeeperAccess(auth=AuthKind.DIGEST, username="me", password=Secret("hush"))
    assert "hush" not in repr(found)
    with pytest.raises(ConfigError, match="zookeeper_auth of the connection pinot_default is 'basic'"):
        address(extra_dejson={"zookeeper_auth": "basic"})


def test_secrets_are_never_shown() -> None:
    basic = address(login="me", password="hush-hush")
    token = address(extra_dejson={"token": "hush-hush"})
    assert isinstance(token.controller.auth, BearerToken)
    for found in (basic, token):
        assert "hush" not in f"{found!r} {found} {PinotAccess(found)!r}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"host": None}, "has no host"),
        ({"extra_dejson": {"tokn": "x"}}, "did you mean token"),
        ({"login": "me", "extra_dejson": {"token": "x"}}, "both 'token' and login are set"),
        ({"extra_dejson": {"read_timeout_s": "soon"}}, "read_timeout_s is 'soon'"),
        ({"schema": "ftp"}, "not an http or https address"),
    ],
)
def test_an_invalid_connection_is_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        address(**fields)
