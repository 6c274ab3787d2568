"""How a client authenticates to ZooKeeper, read from the environment."""

from __future__ import annotations

import pytest

from controller_client.config import Secret, Tls
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AclEntry, AuthKind, ZooKeeperAccess, parse_acl


def access(**variables: str) -> ZooKeeperAccess:
    return ZooKeeperAccess.from_env({f"PINOT_ZOOKEEPER_{name}": text for name, text in variables.items()})


def test_without_settings_the_client_does_not_authenticate() -> None:
    assert access() == ZooKeeperAccess()
    assert access(ACL="", PASSWORD="") == ZooKeeperAccess()


def test_a_tls_file_turns_tls_on() -> None:
    assert access().tls is None
    assert access(TLS="true").tls == Tls()
    assert access(TLS="true", TLS_VERIFY="false").tls == Tls(verify=False)
    assert access(CA_FILE="/ca.pem").tls == Tls(ca_file="/ca.pem")


def test_entries_of_an_acl() -> None:
    assert parse_acl("open") == ()
    assert parse_acl("sasl:pinot:cdrwa; ip:10.0.0.0/8:r") == (
        AclEntry("sasl", "pinot", "cdrwa"),
        AclEntry("ip", "10.0.0.0/8", "r"),
    )
    assert parse_acl("x509:CN=pinot,OU=data:r") == (AclEntry("x509", "CN=pinot,OU=data", "r"),)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"AUTH": "basic"}, "digest, sasl-digest, sasl-kerberos"),
        ({"AUTH": "digest", "USERNAME": "pinot"}, "lacks a user name or a password"),
        ({"USERNAME": "pinot", "PASSWORD": "s3cret"}, "the authentication is not set"),
        ({"AUTH": "sasl-kerberos", "PASSWORD": "s3cret"}, "the authentication is sasl-kerberos"),
        ({"ACL": "creator"}, "does not authenticate"),
        ({"ACL": "pinot"}, "cannot be parsed at 'pinot'"),
        ({"ACL": "sasl:pinot:x"}, "cannot be parsed at 'sasl:pinot:x'"),
        ({"CLIENT_KEY_FILE": "/key.pem"}, "without its client certificate"),
        ({"TLS": "yes"}, "PINOT_ZOOKEEPER_TLS is 'yes'"),
        ({"TLS": "false", "CA_FILE": "/ca.pem"}, "TLS files are given"),
    ],
)
def test_contradictory_settings_are_refused(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        access(**variables)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_password_is_not_shown() -> None:
    assert "s3cret" not in repr(access(AUTH="digest", USERNAME="pinot", PASSWORD="s3cret"))
    assert ZooKeeperAccess(auth=AuthKind.DIGEST, username="a", password=Secret("b")) == access(
        AUTH="digest", USERNAME="a", PASSWORD="b"
    )


@pytest.mark.parametrize(
    ("variables", "may_go"),
    [
        ({}, True),
        ({"CA_FILE": "/ca.pem"}, True),
        ({"AUTH": "sasl-kerberos"}, True),
        ({"AUTH": "digest"}, False),
        ({"AUTH": "sasl-digest"}, False),
        ({"AUTH": "digest", "TLS": "true"}, False),  # any authority of the system would do
        ({"AUTH": "digest", "CA_FILE": "/ca.pem", "TLS_VERIFY": "false"}, False),
        ({"AUTH": "digest", "CA_FILE": "/ca.pem"}, True),
    ],
)
def test_a_password_does_not_go_to_an_address_that_a_controller_reports(
    variables: dict[str, str], may_go: bool
) -> None:
    by_name = {"USERNAME": "pinot", "PASSWORD": "s3cret"} if "digest" in variables.get("AUTH", "") else {}
    made = access(**variables, **by_name)
    if may_go:
        made.check_reported("evil:2181")
        return
    with pytest.raises(ConfigError, match="evil:2181") as caught:
        made.check_reported("evil:2181")
    assert "PINOT_ZOOKEEPER" in str(caught.value.remedy)
    assert "s3cret" not in str(caught.value)


def test_a_password_of_the_environment_is_for_its_address() -> None:
    environ = {
        "PINOT_ZOOKEEPER": "home:2181/chroot",
        "PINOT_ZOOKEEPER_AUTH": "digest",
        "PINOT_ZOOKEEPER_USERNAME": "pinot",
        "PINOT_ZOOKEEPER_PASSWORD": "s3cret",
    }
    assert ZooKeeperAccess.from_env(environ, address="HOME:2181").password is not None
    with pytest.raises(ConfigError, match="env PINOT_ZOOKEEPER") as caught:
        ZooKeeperAccess.from_env(environ, address="other:2181")
    assert "s3cret" not in str(caught.value)
    del environ["PINOT_ZOOKEEPER"]
    assert ZooKeeperAccess.from_env(environ, address="other:2181").password is not None
