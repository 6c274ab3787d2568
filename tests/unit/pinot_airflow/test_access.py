"""What a connection of Airflow says about a cluster; without Airflow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_client.config import BasicAuth, BearerToken, Secret
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from pinot_airflow.access import ClusterAddress, PinotAccess


@dataclass
class Given:
    """The fields of Airflow's connection that are read."""

    conn_id: str = "pinot_default"
    host: str | None = "controller"
    port: int | None = None
    schema: str | None = None
    login: str | None = None
    password: str | None = None
    extra_dejson: dict[str, Any] = field(default_factory=dict)


def address(**fields: Any) -> ClusterAddress:
    return ClusterAddress.of(Given(**fields))  # type: ignore[arg-type]


def test_the_least_and_the_most() -> None:
    least = address()
    assert (least.controller.url, least.controller.auth, least.brokers) == (
        "http://controller:9000",
        None,
        (),
    )
    most = address(
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
    assert most.controller.url == "https://controller:9443"
    assert isinstance(most.controller.auth, BasicAuth)
    assert (most.controller.tls.ca_file, most.controller.tls.verify) == ("/etc/ca.pem", False)
    assert (most.controller.read_timeout_s, most.controller.connect_timeout_s) == (7.5, 5.0)
    assert most.brokers == ("http://a:8099", "http://b:8099")
    assert (most.zookeeper, most.cluster_name) == ("zk:2181/pinot", "C")
    assert address(host="https://gate/pinot").controller.url == "https://gate/pinot"
    assert address(host="one, two", port=1).controller.urls == ("http://one:1", "http://two:1")


def test_the_access_to_zookeeper() -> None:
    assert address().access is None, "the environment's"
    given = {"zookeeper_auth": "digest", "zookeeper_username": "me", "zookeeper_password": "hush"}
    found = address(extra_dejson=given)
    assert found.access == ZooKeeperAccess(auth=AuthKind.DIGEST, username="me", password=Secret("hush"))
    assert "hush" not in repr(found)
    with pytest.raises(ConfigError, match="zookeeper_auth of the connection pinot_default is 'basic'"):
        address(extra_dejson={"zookeeper_auth": "basic"})


def test_secrets_show_nowhere() -> None:
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
        ({"login": "me", "extra_dejson": {"token": "x"}}, "both a token and a login"),
        ({"extra_dejson": {"read_timeout_s": "soon"}}, "read_timeout_s is 'soon'"),
        ({"schema": "ftp"}, "not an http or https address"),
    ],
)
def test_a_connection_that_leads_nowhere(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        address(**fields)
