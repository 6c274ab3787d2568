"""How a process authenticates to ZooKeeper, and the ACL of the znodes that it creates.

Read by :meth:`ZooKeeperAccess.from_env`; :meth:`ZooKeeperAccess.of` reads the same settings from elsewhere:

====================================  ==================================================================
``PINOT_ZOOKEEPER_TLS``               ``true``: TLS; implied by any of the files below
``PINOT_ZOOKEEPER_CA_FILE``           the only certificate authorities (PEM) to trust; default: the system's
``PINOT_ZOOKEEPER_CLIENT_CERT_FILE``  client certificate (PEM)
``PINOT_ZOOKEEPER_CLIENT_KEY_FILE``   its key (PEM), without a password; default: in the same file
``PINOT_ZOOKEEPER_TLS_VERIFY``        ``false`` turns the checks of certificate and host name off
``PINOT_ZOOKEEPER_AUTH``              ``digest`` (the scheme), ``sasl-digest`` or ``sasl-kerberos``
``PINOT_ZOOKEEPER_USERNAME``          user name for the first two
``PINOT_ZOOKEEPER_PASSWORD``          its password
``PINOT_ZOOKEEPER_SERVICE``           Kerberos service name; default: ``zookeeper``
``PINOT_ZOOKEEPER_ACL``               of new znodes: ``open``, ``creator``, ``creator+read``, or entries
                                      ``scheme:id:permissions;...``, e.g. ``sasl:pinot:cdrwa``
====================================  ==================================================================

Existing znodes keep their ACLs. The files are read on the machine where the client runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller_client.common.credential_rules import AddressSource, check_owner
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
"""Names of the settings; as environment variables in capitals, after ``PINOT_ZOOKEEPER_``."""

ENVIRONMENT_PREFIX = "PINOT_ZOOKEEPER_"

_LETTERS = "cdrwa"


@dataclass(frozen=True)
class AclEntry:
    """One entry of an ACL: who may do what.

    Attributes:
        scheme: ``world``, ``auth`` (whoever creates the znode), ``digest``, ``sasl``, ``x509``, ``ip``.
        identity: In the scheme's notation.
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
    """How a client authenticates."""

    DIGEST = "digest"
    SASL_DIGEST = "sasl-digest"
    SASL_KERBEROS = "sasl-kerberos"


@dataclass(frozen=True)
class ZooKeeperAccess:
    """How a client authenticates, and the ACL of what it creates.

    Attributes:
        tls: TLS settings; None: no TLS.
        auth: How it authenticates; None: not at all.
        username: User name, for both digest kinds.
        password: Its password.
        service: Kerberos service name.
        acl: ACL of new znodes, in the notation of :func:`parse_acl`.

    Raises:
        ConfigError: Settings contradict each other, or one is missing.
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
                f"the authentication to ZooKeeper by {self.auth} lacks a user name or a password",
                expected="both",
                where="PINOT_ZOOKEEPER_USERNAME, PINOT_ZOOKEEPER_PASSWORD",
            )
        if not by_name and (self.username or self.password):
            raise ConfigError(
                "a user name or password for ZooKeeper is given, but the authentication is "
                f"{self.auth or 'not set'}",
                expected="digest or sasl-digest",
                where="PINOT_ZOOKEEPER_AUTH",
            )
        if self.tls and self.tls.client_key_file and not self.tls.client_cert_file:
            raise ConfigError(
                "a key for ZooKeeper is given without its client certificate",
                where="PINOT_ZOOKEEPER_CLIENT_CERT_FILE",
            )
        names_creator = any(entry.scheme == "auth" for entry in parse_acl(self.acl))
        if names_creator and self.auth is None and not (self.tls and self.tls.client_cert_file):
            raise ConfigError(
                f"the ACL {self.acl} names the creator of a znode, but this client does not authenticate",
                expected="a user, a client certificate, or another ACL",
                where="PINOT_ZOOKEEPER_ACL",
            )

    def check_reported(self, address: str) -> None:
        """Refuse to send a password to a ZooKeeper that a controller reports.

        Controllers are trusted with answers, not with credentials of other hosts. They may report an address
        if only the operator's own authorities can vouch for it, or if there is no password; Kerberos sends
        none.

        Args:
            address: The reported address.

        Raises:
            ConfigError: There is a password, and no TLS with ``ca_file``.
        """
        is_proven = self.tls is not None and self.tls.verify and self.tls.ca_file is not None
        if self.password is not None and not is_proven:
            raise ConfigError(
                f"the address of ZooKeeper, {address}, is only what the controller reports, and this process "
                "has a password for ZooKeeper",
                expected="an address from the operator, or TLS with the authorities to trust"
                f" ({ENVIRONMENT_PREFIX}CA_FILE)",
                remedy="set PINOT_ZOOKEEPER, or its equivalent: --zookeeper, the option or extra 'zookeeper'",
            )

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, address: str | None = None
    ) -> ZooKeeperAccess:
        """Read the environment variables of the module's table.

        Args:
            environ: Used instead of the process's environment.
            address: The address in use, if it comes from elsewhere.

        Raises:
            ConfigError: A setting cannot be parsed, they contradict each other, or there is a password, but
                ``PINOT_ZOOKEEPER`` names another address.
        """
        env = os.environ if environ is None else environ
        owner = env.get("PINOT_ZOOKEEPER")
        if address and owner and env.get(f"{ENVIRONMENT_PREFIX}PASSWORD"):
            secret = f"password of ZooKeeper (env {ENVIRONMENT_PREFIX}PASSWORD)"
            check_owner(
                secret,
                AddressSource(address, "setting zookeeper"),
                AddressSource(owner, "env PINOT_ZOOKEEPER"),
            )
        return cls.of({name: env.get(ENVIRONMENT_PREFIX + name.upper()) for name in ACCESS_SETTINGS})

    @classmethod
    def of(
        cls,
        values: Mapping[str, str | None],
        named: Callable[[str], str] = lambda name: ENVIRONMENT_PREFIX + name.upper(),
    ) -> ZooKeeperAccess:
        """Read settings.

        Args:
            values: By name, see ACCESS_SETTINGS; an empty value counts as not given.
            named: Returns the user's name of a setting, for error messages.

        Raises:
            ConfigError: A setting cannot be parsed, or they contradict each other.
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
                f"{named('tls')} is false, but TLS files are given",
                remedy="remove the files, or set it to true",
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
    """Parse an ACL; an empty one lets everyone do everything, as Pinot does.

    Raises:
        ConfigError: The text is not an ACL.
    """
    if text in _NAMED_ACLS:
        return _NAMED_ACLS[text]
    found = []
    for entry in text.split(";"):
        scheme, _, rest = entry.strip().partition(":")
        identity, _, letters = rest.rpartition(":")
        if not (scheme and identity and letters) or not set(letters) <= set(_LETTERS):
            raise ConfigError(
                f"the ACL {text!r} cannot be parsed at {entry.strip()!r}",
                expected=f"{', '.join(_NAMED_ACLS)}, or scheme:id:permissions;... with letters of {_LETTERS}",
                where=f"{ENVIRONMENT_PREFIX}ACL",
            )
        found.append(AclEntry(scheme, identity, letters))
    return tuple(found)
