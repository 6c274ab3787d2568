"""Kazoo's options for the access to ZooKeeper, with TLS that trusts only the operator's authorities."""

from __future__ import annotations

import socket
import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.security import ACL, Id, Permissions

from controller_client.common.extras import missing_module
from controller_client.errors import ConfigError, SetupError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess, parse_acl

__all__ = ["OwnAuthorities", "client_options"]


class OwnAuthorities(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Kazoo's handler, which by itself trusts the system's authorities in addition to the given ones."""

    def create_connection(
        self,
        address: tuple[str, int],
        *,
        ca: str,
        hostname: str | None = None,
        timeout: float | None = None,
        certfile: str | None = None,
        keyfile: str | None = None,
        verify_certs: bool = True,
        check_hostname: bool = True,
        **_others: object,
    ) -> ssl.SSLSocket:
        """Connect; the arguments are kazoo's.

        Raises:
            OSError: The server cannot be reached, or its certificate is not trusted.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = check_hostname
        context.verify_mode = ssl.CERT_REQUIRED if verify_certs else ssl.CERT_NONE
        context.load_verify_locations(ca)
        if certfile:
            context.load_cert_chain(certfile, keyfile)
        plain = socket.create_connection(address, timeout)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return context.wrap_socket(plain, server_hostname=hostname)
        except BaseException:
            plain.close()
            raise


_PERMISSIONS = {
    "r": Permissions.READ,
    "w": Permissions.WRITE,
    "c": Permissions.CREATE,
    "d": Permissions.DELETE,
    "a": Permissions.ADMIN,
}


def client_options(access: ZooKeeperAccess) -> dict[str, Any]:
    """Return arguments for a KazooClient; they contain secrets.

    Raises:
        ConfigError: A TLS file is missing or has the wrong content.
        SetupError: The library for SASL (extra ``sasl``) or Kerberos is not installed.
    """
    return {"default_acl": _acl_of(access.acl), **_tls_of(access), **_auth_of(access)}


def _acl_of(text: str) -> list[ACL] | None:
    return [
        ACL(sum(_PERMISSIONS[letter] for letter in set(each.permissions)), Id(each.scheme, each.identity))
        for each in parse_acl(text)
    ] or None


def _tls_of(access: ZooKeeperAccess) -> dict[str, Any]:
    tls = access.tls
    if tls is None:
        return {}
    tls.check()
    if tls.ca_file and Path(tls.ca_file).is_dir():
        raise ConfigError(
            f"ZooKeeper's certificate authorities cannot be read: {tls.ca_file} is a folder",
            expected="one PEM file with all of them",
            where="PINOT_ZOOKEEPER_CA_FILE",
        )
    return {
        **({"handler": OwnAuthorities()} if tls.ca_file else {}),
        "use_ssl": True,
        "ca": tls.ca_file,
        "certfile": tls.client_cert_file,
        # kazoo sends no certificate if it is given only one of the two files.
        "keyfile": tls.client_key_file or tls.client_cert_file,
        "verify_certs": tls.verify,
        "check_hostname": tls.verify,
    }


def _auth_of(access: ZooKeeperAccess) -> dict[str, Any]:
    if access.auth is None:
        return {}
    password = access.password.reveal() if access.password else ""
    if access.auth is AuthKind.DIGEST:
        return {"auth_data": [("digest", f"{access.username}:{password}")]}
    _require_sasl()
    if access.auth is AuthKind.SASL_KERBEROS:
        _require_kerberos()
        return {"sasl_options": {"mechanism": "GSSAPI", "service": access.service}}
    return {
        "sasl_options": {
            "mechanism": "DIGEST-MD5",
            "username": access.username,
            "password": password,
            "service": access.service,
            # ZooKeeper's name in this mechanism, regardless of its host.
            "principal": "zk-sasl-md5",
        }
    }


def _require_sasl() -> None:
    try:
        import puresasl  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_module(error, "SASL to ZooKeeper", ["sasl"]) from error


def _require_kerberos() -> None:
    # No extra contains it: it is built against the machine's C library.
    if find_spec("kerberos") is None:
        raise SetupError(
            "Kerberos authentication to ZooKeeper needs the Python module kerberos, which is not installed",
            remedy="run 'pip install kerberos'",
        )
