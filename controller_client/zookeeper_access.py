"""How a process comes into a ZooKeeper that asks who it is, and who may read and write what it makes there.

By :meth:`ZooKeeperAccess.from_env`; :meth:`ZooKeeperAccess.of` reads the same settings from elsewhere:

====================================  ==================================================================
``PINOT_ZOOKEEPER_TLS``               ``true``: TLS; also where one of the files below is given
``PINOT_ZOOKEEPER_CA_FILE``           certificate authorities (PEM) to trust, besides the system's
``PINOT_ZOOKEEPER_CLIENT_CERT_FILE``  client certificate (PEM)
``PINOT_ZOOKEEPER_CLIENT_KEY_FILE``   its key (PEM), without a password; default: in that file
``PINOT_ZOOKEEPER_TLS_VERIFY``        ``false`` switches the checks of certificate and host name off
``PINOT_ZOOKEEPER_AUTH``              ``digest`` (the scheme), ``sasl-digest`` or ``sasl-kerberos``
``PINOT_ZOOKEEPER_USERNAME``          user of the first two
``PINOT_ZOOKEEPER_PASSWORD``          its password
``PINOT_ZOOKEEPER_SERVICE``           Kerberos' name of the service; default ``zookeeper``
``PINOT_ZOOKEEPER_ACL``               of what is made: ``open``, ``creator``, ``creator+read``, or entries
                                      ``scheme:id:permissions;...``, e.g. ``sasl:pinot:cdrwa``
====================================  ==================================================================

What exists keeps the ACL that it has. The files are read where the client runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller_client.config import Secret, Tls
from controller_client.errors import ConfigError

__all__ = ["ACCESS_SETTINGS", "ENVIRONMENT_PREFIX", "AclEntry", "AuthKind", "ZooKeeperAccess", "parse_acl"]

ACCESS_SETTINGS = (
    "tls",
    "ca_file",
    "client_cert_file",
    "client_key_file",
    "tls_verify",
    "auth",
    "username",
    "password",
    "service",
    "acl",
)
"""Names of the settings; the environment has them in capitals, after ``PINOT_ZOOKEEPER_``."""

ENVIRONMENT_PREFIX = "PINOT_ZOOKEEPER_"

_LETTERS = "cdrwa"


@dataclass(frozen=True)
class AclEntry:
    """Who may do what.

    Attributes:
        scheme: ``world``, ``auth`` (whoever makes the znode), ``digest``, ``sasl``, ``x509``, ``ip``.
        identity: As the scheme writes it.
        permissions: Letters: c(reate), d(elete), r(ead), w(rite), a(dmin).
    """

    scheme: str
    identity: str
    permissions: str


_CREATOR = AclEntry("auth", "", _LETTERS)
_NAMED_ACLS: dict[str, tuple[AclEntry, ...]] = {
    "open": (),
    "creator": (_CREATOR,),
    "creator+read": (_CREATOR, AclEntry("world", "anyone", "r")),
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
        if by_name and not (self.username and self.password):
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
        if self.tls and self.tls.client_key_file and not self.tls.client_cert_file:
            raise ConfigError(
                "a key for ZooKeeper is given without the client certificate that it belongs to",
                where="PINOT_ZOOKEEPER_CLIENT_CERT_FILE",
            )
        names_creator = any(entry.scheme == "auth" for entry in parse_acl(self.acl))
        if names_creator and self.auth is None and not (self.tls and self.tls.client_cert_file):
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
        env = os.environ if environ is None else environ
        return cls.of({name: env.get(ENVIRONMENT_PREFIX + name.upper()) for name in ACCESS_SETTINGS})

    @classmethod
    def of(
        cls,
        values: Mapping[str, str | None],
        named: Callable[[str], str] = lambda name: ENVIRONMENT_PREFIX + name.upper(),
    ) -> ZooKeeperAccess:
        """Read settings.

        Args:
            values: By the names in ACCESS_SETTINGS; an empty one counts as not given.
            named: What the user calls a setting, for errors.

        Raises:
            ConfigError: One cannot be read, or they do not belong together.
        """

        def value(name: str) -> str | None:
            return values.get(name) or None

        def truth(name: str) -> bool | None:
            text = value(name)
            if text is not None and text.strip().lower() not in ("true", "false"):
                raise ConfigError(f"{named(name)} is {text!r}", expected="true or false")
            return text.strip().lower() == "true" if text else None

        files = [value(name) for name in ("ca_file", "client_cert_file", "client_key_file")]
        wants_tls, verify = truth("tls"), truth("tls_verify") is not False
        tls = Tls(files[0], files[1], files[2], verify) if wants_tls or any(files) else None
        if wants_tls is False and tls is not None:
            raise ConfigError(
                f"{named('tls')} is false, and files of TLS are given", remedy="give one of the two"
            )
        name, password = value("auth"), value("password")
        if name is not None and name not in [*AuthKind]:
            raise ConfigError(f"{named('auth')} is {name!r}", expected=f"one of {', '.join(AuthKind)}")
        return cls(
            tls=tls,
            auth=AuthKind(name) if name else None,
            username=value("username"),
            password=Secret(password) if password else None,
            service=value("service") or cls.service,
            acl=value("acl") or cls.acl,
        )


def parse_acl(text: str) -> tuple[AclEntry, ...]:
    """Return the ACL that a text describes; without entries everybody may do everything, as Pinot has it.

    Raises:
        ConfigError: It describes none.
    """
    if text in _NAMED_ACLS:
        return _NAMED_ACLS[text]
    found = []
    for entry in text.split(";"):
        scheme, _, rest = entry.strip().partition(":")
        identity, _, letters = rest.rpartition(":")
        if not (scheme and identity and letters) or not set(letters) <= set(_LETTERS):
            raise ConfigError(
                f"the ACL {text!r} cannot be read at {entry.strip()!r}",
                expected=f"{', '.join(_NAMED_ACLS)}, or scheme:id:permissions;... of the letters {_LETTERS}",
                where=f"{ENVIRONMENT_PREFIX}ACL",
            )
        found.append(AclEntry(scheme, identity, letters))
    return tuple(found)
