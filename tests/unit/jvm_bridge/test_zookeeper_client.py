"""The system properties with which Java's clients authenticate to ZooKeeper."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.config import Secret, Tls
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from jvm_bridge.zookeeper_client import java_properties


def test_an_open_zookeeper_needs_no_credentials(tmp_path: Path) -> None:
    assert java_properties(ZooKeeperAccess(), tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_in_a_file_of_this_user_alone(tmp_path: Path) -> None:
    access = ZooKeeperAccess(
        auth=AuthKind.SASL_DIGEST, username="pinot", password=Secret('a"b\\c'), service="zk"
    )
    found = dict(java_properties(access, tmp_path))
    file = Path(found.pop("java.security.auth.login.config"))
    assert found == {"zookeeper.sasl.client.username": "zk", "zookeeper.fips-mode": "false"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert 'username="pinot" password="a\\"b\\\\c";' in file.read_text()


def test_kerberos_uses_the_users_ticket(tmp_path: Path) -> None:
    found = java_properties(ZooKeeperAccess(auth=AuthKind.SASL_KERBEROS), tmp_path)
    assert found["zookeeper.sasl.client.username"] == "zookeeper"
    assert "useTicketCache=true" in Path(found["java.security.auth.login.config"]).read_text()


def test_tls(tmp_path: Path) -> None:
    assert java_properties(ZooKeeperAccess(tls=Tls()), tmp_path) == {
        "zookeeper.client.secure": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
    }
    with pytest.raises(ConfigError, match="verifies certificates"):
        java_properties(ZooKeeperAccess(tls=Tls(verify=False)), tmp_path)
