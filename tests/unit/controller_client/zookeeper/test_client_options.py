"""Kazoo's options for an access to ZooKeeper."""

from __future__ import annotations

import ssl
import sys
from contextlib import closing
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
import trustme
from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE, Id

from controller_client.config import Secret, Tls
from controller_client.errors import ConfigError, SetupError, UnreachableError
from controller_client.zookeeper.client_options import client_options
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from tests.unit.controller_client.zookeeper.wire_server import wire_server

_PASSWORD = Secret("s3cret")


def test_an_open_zookeeper_needs_no_options() -> None:
    assert client_options(ZooKeeperAccess()) == {"default_acl": None}


def test_a_digest_and_an_acl_for_its_user() -> None:
    access = ZooKeeperAccess(auth=AuthKind.DIGEST, username="pinot", password=_PASSWORD, acl="creator+read")
    assert client_options(access) == {
        "default_acl": [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE],
        "auth_data": [("digest", "pinot:s3cret")],
    }


def test_an_acl_by_entries() -> None:
    access = ZooKeeperAccess(acl="sasl:pinot:cdrwa;ip:10.0.0.0/8:rr")
    assert client_options(access)["default_acl"] == [
        ACL(31, Id("sasl", "pinot")),
        ACL(1, Id("ip", "10.0.0.0/8")),
    ]


def test_sasl(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("kerberos")
    library.__spec__ = ModuleSpec("kerberos", None)
    monkeypatch.setitem(sys.modules, "kerberos", library)
    digest = client_options(ZooKeeperAccess(auth=AuthKind.SASL_DIGEST, username="pinot", password=_PASSWORD))[
        "sasl_options"
    ]
    assert (digest["mechanism"], digest["username"], digest["password"]) == ("DIGEST-MD5", "pinot", "s3cret")
    kerberos = client_options(ZooKeeperAccess(auth=AuthKind.SASL_KERBEROS, service="zk"))
    assert kerberos["sasl_options"] == {"mechanism": "GSSAPI", "service": "zk"}


def test_tls_checks_the_host_name_with_the_certificate(tmp_path: Path) -> None:
    checked = client_options(ZooKeeperAccess(tls=Tls()))
    assert (checked["use_ssl"], checked["verify_certs"], checked["check_hostname"]) == (True, True, True)
    unchecked = client_options(ZooKeeperAccess(tls=Tls(verify=False)))
    assert (unchecked["verify_certs"], unchecked["check_hostname"]) == (False, False)
    with pytest.raises(ConfigError, match="certificates of authorities"):
        client_options(ZooKeeperAccess(tls=Tls(ca_file=str(tmp_path / "none.pem"))))


def test_a_client_certificate_with_its_key_in_the_same_file_is_sent(tmp_path: Path) -> None:
    pem = tmp_path / "client.pem"
    client = trustme.CA().issue_cert("client@pinot.example")
    client.private_key_and_cert_chain_pem.write_to_path(pem)
    options = client_options(ZooKeeperAccess(tls=Tls(client_cert_file=str(pem))))
    # kazoo uses neither of the two if one is missing.
    assert (options["certfile"], options["keyfile"]) == (str(pem), str(pem))


def test_a_folder_of_authorities_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        client_options(ZooKeeperAccess(tls=Tls(ca_file=str(tmp_path))))


def test_kerberos_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kerberos", None)
    with pytest.raises(SetupError, match="kerberos"):
        client_options(ZooKeeperAccess(auth=AuthKind.SASL_KERBEROS))


def test_only_the_given_authorities_are_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, of_system = trustme.CA(), trustme.CA()
    own.cert_pem.write_to_path(tmp_path / "own.pem")
    of_system.cert_pem.write_to_path(tmp_path / "system.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    access = ZooKeeperAccess(tls=Tls(ca_file=str(tmp_path / "own.pem")))

    def connect(authority: trustme.CA, timeout_s: float) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        with (
            wire_server(context) as server,
            closing(ZooKeeperConnection(server.address, access=access, timeout_s=timeout_s)) as connection,
        ):
            assert not connection.exists("/a")

    connect(own, 30.0)
    with pytest.raises(UnreachableError, match="certificate"):
        connect(of_system, 1.0)
