"""Configures Java's ZooKeeper clients, those of Pinot's own role, with the same access as Python's.

Java reads its settings from system properties and files. Settings that already exist, e.g. from
``JAVA_OPTS``, are not changed.
"""

from __future__ import annotations

import atexit
import logging
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from controller_client.common.folders import scratch_folder
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess

__all__ = ["configure_java", "java_properties"]

logger = logging.getLogger(__name__)

_JAAS_FILE = "java.security.auth.login.config"
_OTHER_KEYS = re.compile(r"-----BEGIN (RSA|EC|DSA|ENCRYPTED) PRIVATE KEY-----")


def configure_java(access: ZooKeeperAccess) -> None:
    """Set Java's system properties; the JVM must be running, and have no ZooKeeper client yet.

    The properties refer to files with secrets. Only this user can read them, and they are deleted when the
    process ends.

    Raises:
        ConfigError: A file cannot be read, or Java cannot use it.
    """
    import jpype

    from jvm_bridge.shutdown import at_shutdown

    if access.tls is None and access.auth is None:
        return
    files = ExitStack()
    # Java ends the process of a role, without Python's exit handlers.
    for at_end in (atexit.register, at_shutdown):
        at_end(files.close)
    system = jpype.JClass("java.lang.System")
    folder = files.enter_context(scratch_folder("pinot-zookeeper-"))
    for name, value in java_properties(access, folder).items():
        if system.getProperty(name) is None:
            system.setProperty(name, value)
    if access.auth is AuthKind.DIGEST:
        logger.warning(
            "Pinot's own ZooKeeper clients do not support the scheme digest: they connect without"
            " authentication, with the permissions of everybody. Use sasl-digest if that is not enough"
        )


def java_properties(access: ZooKeeperAccess, folder: Path) -> Mapping[str, str]:
    """Return the system properties of an access.

    Args:
        access: The access.
        folder: Folder for the files to which they refer; nobody else may read it.

    Raises:
        ConfigError: A file cannot be read, or Java cannot use it.
    """
    return {**_of_tls(access, folder), **_of_sasl(access, folder)}


def _of_tls(access: ZooKeeperAccess, folder: Path) -> Mapping[str, str]:
    tls = access.tls
    if tls is None:
        return {}
    tls.check()
    if not tls.verify:
        raise ConfigError(
            "Java's ZooKeeper client always verifies certificates",
            expected="the CA certificates for ZooKeeper's certificate (PINOT_ZOOKEEPER_CA_FILE)",
            where="PINOT_ZOOKEEPER_TLS_VERIFY",
        )
    properties = {
        "zookeeper.client.secure": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
    }
    if tls.ca_file:
        properties |= {
            "zookeeper.ssl.trustStore.location": str(Path(tls.ca_file).absolute()),
            "zookeeper.ssl.trustStore.type": "PEM",
        }
    if tls.client_cert_file:
        # Java requires both in one file.
        parts = [tls.client_key_file, tls.client_cert_file]
        text = "\n".join(Path(part).read_text(encoding="utf-8").strip() for part in parts if part)
        if _OTHER_KEYS.search(text):
            raise ConfigError(
                "Java's ZooKeeper client cannot read this format of a private key",
                expected="PKCS #8 without a password (BEGIN PRIVATE KEY)",
                where=str(tls.client_key_file or tls.client_cert_file),
                remedy="openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW_KEY",
            )
        properties |= {
            "zookeeper.ssl.keyStore.location": _secret_file(folder / "client.pem", text + "\n"),
            "zookeeper.ssl.keyStore.type": "PEM",
        }
    return properties


def _of_sasl(access: ZooKeeperAccess, folder: Path) -> Mapping[str, str]:
    if access.auth is AuthKind.SASL_DIGEST and access.username and access.password:
        module = (
            "org.apache.zookeeper.server.auth.DigestLoginModule required"
            f" username={_quoted(access.username)} password={_quoted(access.password.reveal())}"
        )
    elif access.auth is AuthKind.SASL_KERBEROS:
        module = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true"
    else:
        return {}
    return {
        _JAAS_FILE: _secret_file(folder / "jaas.conf", f"Client {{ {module}; }};\n"),
        # Otherwise ZooKeeper 3.9 rejects MD5; 3.5 ignores the property.
        **({"zookeeper.fips-mode": "false"} if access.auth is AuthKind.SASL_DIGEST else {}),
        "zookeeper.sasl.client.username": access.service,
    }


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _secret_file(path: Path, text: str) -> str:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return str(path)
