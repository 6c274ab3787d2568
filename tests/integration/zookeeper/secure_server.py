"""A ZooKeeper that asks who comes: by SASL on one port, by client certificates on another."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

from jvm_bridge.jdk import find_java
from tests.integration.jvm_bridge.servers import HOST, free_ports
from tests.support.jars import jars_of
from tests.support.java_options import QUICK_START
from tests.support.service import Program
from tests.support.wait import wait_for

__all__ = ["PASSWORD", "USER", "Certificates", "SecureZooKeeper", "secure_zookeeper"]

USER, PASSWORD = "pinot", 'a "quoted" \\ pass:word'
_OTHER_PASSWORD = "other-password"

_CONFIG = """
tickTime=1000
dataDir={folder}/data
clientPortAddress={host}
clientPort={port}
secureClientPortAddress={host}
secureClientPort={tls_port}
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
ssl.keyStore.location={server}
ssl.keyStore.type=PEM
ssl.trustStore.location={authority}
ssl.trustStore.type=PEM
ssl.clientAuth=need
admin.enableServer=false
4lw.commands.whitelist=srvr
"""
_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule required"


@dataclass(frozen=True)
class Certificates:
    """Files of TLS, in PEM.

    Attributes:
        authority: The authority's certificate.
        client: A client's certificate.
        client_key: Its key.
        stranger: Certificate of an authority that signed nothing here.
    """

    authority: Path
    client: Path
    client_key: Path
    stranger: Path


@dataclass(frozen=True)
class SecureZooKeeper:
    """Where it listens.

    Attributes:
        address: By SASL, or anybody.
        tls_address: By TLS, with a certificate of the client's.
        certificates: For it.
    """

    address: str
    tls_address: str
    certificates: Certificates


@contextmanager
def secure_zookeeper(folder: Path) -> Iterator[SecureZooKeeper]:
    """Start it, and end it."""
    authority = trustme.CA()
    # Java asks the system for the name of an address, and has that checked.
    server, client = authority.issue_cert(HOST, "localhost"), authority.issue_cert("client@pinot.example")
    certificates = Certificates(
        *(folder / f"{name}.pem" for name in ("authority", "client", "key", "stranger"))
    )
    authority.cert_pem.write_to_path(certificates.authority)
    trustme.CA().cert_pem.write_to_path(certificates.stranger)
    client.cert_chain_pems[0].write_to_path(certificates.client)
    certificates.client_key.write_bytes(_pkcs8(client))
    (folder / "server.pem").write_bytes(_pkcs8(server) + server.cert_chain_pems[0].bytes())
    escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    (folder / "jaas.conf").write_text(
        f'Server {{ {_MODULE} user_{USER}="{escaped}" user_other="{_OTHER_PASSWORD}"; }};\n'
    )
    port, tls_port = free_ports(2)
    (folder / "zoo.cfg").write_text(
        _CONFIG.format(
            folder=folder,
            host=HOST,
            port=port,
            tls_port=tls_port,
            server=folder / "server.pem",
            authority=certificates.authority,
        )
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                str(find_java().home / "bin" / "java"),
                "-Xmx128m",
                *QUICK_START.split(),
                f"-Djava.security.auth.login.config={folder / 'jaas.conf'}",
                *("-cp", ":".join(str(jar) for jar in jars_of(Program.PINOT).class_path)),
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                str(folder / "zoo.cfg"),
            ],
            cwd=folder,  # Pinot's log4j2.xml has it write to the folder logs, too
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: _answers(port), f"ZooKeeper, which wrote {folder / 'log'}")
        yield SecureZooKeeper(f"{HOST}:{port}", f"{HOST}:{tls_port}", certificates)
    finally:
        process.kill()
        process.wait()


def _pkcs8(certificate: trustme.LeafCert) -> bytes:
    """The private key in the only form that ZooKeeper reads."""
    key = serialization.load_pem_private_key(certificate.private_key_pem.bytes(), None)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _answers(port: int) -> bool:
    with socket.create_connection((HOST, port), timeout=5) as connection:
        connection.sendall(b"srvr")
        return connection.recv(64).startswith(b"Zookeeper version")
