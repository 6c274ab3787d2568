"""How a process comes into a ZooKeeper that asks who it is, and who may read and write what it makes there.

By :meth:`ZooKeeperAccess.from_env`:

====================================  ==================================================================
``PINOT_ZOOKEEPER_TLS``               ``true``: TLS; also where one of the files below is given
``PINOT_ZOOKEEPER_CA_FILE``           certificate authorities (PEM) to trust; default: the system's
``PINOT_ZOOKEEPER_CLIENT_CERT_FILE``  client certificate (PEM)
``PINOT_ZOOKEEPER_CLIENT_KEY_FILE``   its key (PEM), without a password
``PINOT_ZOOKEEPER_TLS_VERIFY``        ``false`` switches the checks of certificate and host name off
``PINOT_ZOOKEEPER_AUTH``              ``digest`` (the scheme), ``sasl-digest`` or ``sasl-kerberos``
``PINOT_ZOOKEEPER_USERNAME``          user of the first two
``PINOT_ZOOKEEPER_PASSWORD``          its password
``PINOT_ZOOKEEPER_SERVICE``           Kerberos' name of the service; default ``zookeeper``
``PINOT_ZOOKEEPER_ACL``               of what is made: ``open``, ``creator``, ``creator+read``, or entries
                                      ``scheme:id:permissions,...``, e.g. ``sasl:pinot:cdrwa``
====================================  ==================================================================

What exists keeps the ACL that it has.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kazoo.security import ACL, CREATOR_ALL_ACL, READ_ACL_UNSAFE, Id, Permissions

from controller_client.config import Secret, Tls
from controller_client.errors import ConfigError, SetupError

__all__ = ["AuthKind", "ZooKeeperAccess", "parse_acl"]

_PERMISSIONS = {
    "r": Permissions.READ,
    "w": Permissions.WRITE,
    "c": Permissions.CREATE,
    "d": Permissions.DELETE,
    "a": Permissions.ADMIN,
}
_NAMED_ACLS: dict[str, list[ACL] | None] = {
    "open": None,
    "creator": CREATOR_ALL_ACL,
    "creator+read": [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE],
}


class AuthKind(StrEnum):
    """How a client shows who it is."""

    DIGEST = "digest"
    SASL_DIGEST = "sasl-digest"
    SASL_KERBEROS = "sasl-kerberos"


@dataclass(frozen=True)
class ZooKeeperAccess:
    """What a client shows, and what it gives to others.

    Attributes:
        tls: TLS settings; None: none.
        auth: How it shows who it is; None: not at all.
        username: Its name, for the digests.
        password: Its password, for the digests.
        service: Kerberos' name of the service.
        acl: Of what it makes, as :func:`parse_acl` reads it.

    Raises:
        ConfigError: Something does not belong together, or is missing.
    """

    tls: Tls | None = None
    auth: AuthKind | None = None
    username: str | None = None
    password: Secret | None = field(default=None, repr=False)
    service: str = "zookeeper"
    acl: str = "open"

    def __post_init__(self) -> None:
        by_name = self.auth in (AuthKind.DIGEST, AuthKind.SASL_DIGEST)
        if by_name and not (self.username and self.password and self.password.reveal()):
            raise ConfigError(
                f"the access to ZooKeeper by {self.auth} lacks a user or a password",
                expected="both",
                where="PINOT_ZOOKEEPER_USERNAME, PINOT_ZOOKEEPER_PASSWORD",
            )
        if not by_name and (self.username or self.password):
            raise ConfigError(
                f"a user or password for ZooKeeper is given, and the access is by {self.auth or 'nothing'}",
                expected="digest or sasl-digest",
                where="PINOT_ZOOKEEPER_AUTH",
            )
        acl = parse_acl(self.acl)
        if self.auth is None and not (self.tls and self.tls.client_cert_file) and _needs_creator(acl):
            raise ConfigError(
                f"the ACL {self.acl} is for who makes a znode, and this client does not show who it is",
                expected="a user, a client certificate, or another ACL",
                where="PINOT_ZOOKEEPER_ACL",
            )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> ZooKeeperAccess:
        """Read the environment variables of the module's table.

        Raises:
            ConfigError: One cannot be read, or they do not belong together.
        """
        return cls.of(os.environ if environ is None else environ, "PINOT_ZOOKEEPER_")

    @classmethod
    def of(cls, values: Mapping[str, str], prefix: str) -> ZooKeeperAccess:
        """As :meth:`from_env`, for variables with another prefix."""

        def value(name: str) -> str | None:
            return values.get(prefix + name) or None

        files = [value(name) for name in ("CA_FILE", "CLIENT_CERT_FILE", "CLIENT_KEY_FILE")]
        verify = _truth(values, prefix + "TLS_VERIFY", default=True)
        tls = None
        if any(files) or _truth(values, prefix + "TLS", default=False):
            tls = Tls(files[0], files[1], files[2], verify)
        name, password = value("AUTH"), value("PASSWORD")
        try:
            auth = AuthKind(name) if name else None
        except ValueError:
            raise ConfigError(f"{prefix}AUTH is {name!r}", expected=f"one of {', '.join(AuthKind)}") from None
        return cls(
            tls=tls,
            auth=auth,
            username=value("USERNAME"),
            password=Secret(password) if password else None,
            service=value("SERVICE") or cls.service,
            acl=value("ACL") or cls.acl,
        )

    def client_options(self) -> dict[str, Any]:
        """Return the arguments of a KazooClient; they hold secrets.

        Raises:
            ConfigError: A file is missing, or does not hold what it should.
            SetupError: The library of SASL is not installed (extra ``sasl``).
        """
        options: dict[str, Any] = {"default_acl": parse_acl(self.acl)}
        if self.tls is not None:
            self.tls.check()
            options |= {
                "use_ssl": True,
                "ca": self.tls.ca_file,
                "certfile": self.tls.client_cert_file,
                "keyfile": self.tls.client_key_file,
                "verify_certs": self.tls.verify,
                "check_hostname": self.tls.verify,
            }
        password = self.password.reveal() if self.password else ""
        if self.auth is AuthKind.DIGEST:
            options["auth_data"] = [("digest", f"{self.username}:{password}")]
        elif self.auth is AuthKind.SASL_DIGEST:
            _require_sasl()
            options["sasl_options"] = {
                "mechanism": "DIGEST-MD5",
                "username": self.username,
                "password": password,
                "service": self.service,
                "principal": "zk-sasl-md5",
            }
        elif self.auth is AuthKind.SASL_KERBEROS:
            _require_sasl()
            options["sasl_options"] = {"mechanism": "GSSAPI", "service": self.service}
        return options


def parse_acl(text: str) -> list[ACL] | None:
    """Return the ACL that a text describes; None: everybody may do everything, as Pinot itself leaves it.

    Raises:
        ConfigError: It describes none.
    """
    if text in _NAMED_ACLS:
        return _NAMED_ACLS[text]
    found: list[ACL] = []
    for entry in text.split(","):
        scheme, _, rest = entry.strip().partition(":")
        identity, _, letters = rest.rpartition(":")
        if not (scheme and identity and letters) or not set(letters) <= set(_PERMISSIONS):
            raise ConfigError(
                f"the ACL {text!r} cannot be read at {entry.strip()!r}",
                expected=f"{', '.join(_NAMED_ACLS)}, or entries scheme:id:permissions of the letters c, d, r, w, a",
                where="PINOT_ZOOKEEPER_ACL",
            )
        permissions = 0
        for letter in letters:
            permissions |= _PERMISSIONS[letter]
        found.append(ACL(permissions, Id(scheme, identity)))
    return found


def _needs_creator(acl: list[ACL] | None) -> bool:
    return any(entry.id.scheme == "auth" for entry in acl or ())


def _truth(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = (values.get(name) or str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{name} is {text!r}", expected="true or false")
    return text == "true"


def _require_sasl() -> None:
    try:
        import puresasl  # noqa: F401
    except ModuleNotFoundError as error:
        raise SetupError(
            "SASL to ZooKeeper needs the package pure-sasl", remedy="pip install 'pinot-plugins[sasl]'"
        ) from error
