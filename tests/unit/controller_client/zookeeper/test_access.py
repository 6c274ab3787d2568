"""Who a client says that it is in ZooKeeper, and what it gives to others, as the environment says it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE, Id

from controller_client.config import Secret
from controller_client.errors import ConfigError
from controller_client.zookeeper.access import AuthKind, ZooKeeperAccess, parse_acl


def access(**variables: str) -> ZooKeeperAccess:
    return ZooKeeperAccess.from_env({f"PINOT_ZOOKEEPER_{name}": text for name, text in variables.items()})


def test_nothing_said_is_nothing_shown() -> None:
    assert access() == ZooKeeperAccess()
    assert access(ACL="", PASSWORD="") == ZooKeeperAccess()
    assert access().client_options() == {"default_acl": None}


def test_a_digest() -> None:
    found = access(AUTH="digest", USERNAME="pinot", PASSWORD="s3cret", ACL="creator+read")
    assert found.client_options() == {
        "default_acl": [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE],
        "auth_data": [("digest", "pinot:s3cret")],
    }
    assert "s3cret" not in repr(found)


def test_sasl() -> None:
    pytest.importorskip("puresasl")
    digest = access(AUTH="sasl-digest", USERNAME="pinot", PASSWORD="s3cret").client_options()
    assert digest["sasl_options"]["mechanism"] == "DIGEST-MD5"
    assert digest["sasl_options"]["password"] == "s3cret"
    kerberos = access(AUTH="sasl-kerberos", SERVICE="zk").client_options()
    assert kerberos["sasl_options"] == {"mechanism": "GSSAPI", "service": "zk"}


def test_tls_is_on_where_a_file_of_it_is_given(tmp_path: Path) -> None:
    assert access(TLS="true").client_options()["use_ssl"] is True
    assert access(TLS="true").client_options()["check_hostname"] is True
    assert access(TLS="true", TLS_VERIFY="false").client_options()["verify_certs"] is False
    with pytest.raises(ConfigError, match="certificates of authorities"):
        access(CA_FILE=str(tmp_path / "none.pem")).client_options()


def test_entries_of_an_acl() -> None:
    assert parse_acl("sasl:pinot:cdrwa, ip:10.0.0.0/8:r") == [
        ACL(31, Id("sasl", "pinot")),
        ACL(1, Id("ip", "10.0.0.0/8")),
    ]
    assert parse_acl("x509:CN=pinot,OU=a:r".replace(",OU", "/OU")) == [ACL(1, Id("x509", "CN=pinot/OU=a"))]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"AUTH": "basic"}, "digest, sasl-digest, sasl-kerberos"),
        ({"AUTH": "digest", "USERNAME": "pinot"}, "lacks a user or a password"),
        ({"USERNAME": "pinot", "PASSWORD": "s3cret"}, "the access is by nothing"),
        ({"AUTH": "sasl-kerberos", "PASSWORD": "s3cret"}, "the access is by sasl-kerberos"),
        ({"ACL": "creator"}, "does not show who it is"),
        ({"ACL": "pinot"}, "cannot be read at 'pinot'"),
        ({"ACL": "sasl:pinot:x"}, "cannot be read at 'sasl:pinot:x'"),
        ({"TLS": "yes"}, "true or false"),
    ],
)
def test_what_does_not_belong_together_is_refused(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        access(**variables)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_password_is_not_compared_in_the_clear() -> None:
    assert ZooKeeperAccess(auth=AuthKind.DIGEST, username="a", password=Secret("b")) == access(
        AUTH="digest", USERNAME="a", PASSWORD="b"
    )
