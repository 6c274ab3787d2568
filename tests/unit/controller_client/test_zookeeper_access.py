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
