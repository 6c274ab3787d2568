"""How a process authenticates to ZooKeeper, and the ACL of the znodes that it creates.

Existing znodes keep their ACLs. The files are read on the machine where the client runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller_client.common.credential_rules import AddressSource, check_owner
from controller_client.config import Secret, SettingReader, Tls
from controller_client.connection_settings import ZOOKEEPER_PREFIX
from controller_client.errors import ConfigError

__all__ = ["AclEntry", "AuthKind", "ZooKeeperAccess", "parse_acl"]

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
                " (PINOT_ZOOKEEPER_CA_FILE)",
                remedy="set PINOT_ZOOKEEPER, or its equivalent: --zookeeper, the option or extra 'zookeeper'",
            )

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, address: str | None = None
    ) -> ZooKeeperAccess:
        """Read the environment variables of :mod:`~controller_client.connection_settings`.

        Args:
            environ: Used instead of the process's environment.
            address: The address in use, if it comes from elsewhere.

        Raises:
            ConfigError: A setting cannot be parsed, they contradict each other, or there is a password, but
                ``PINOT_ZOOKEEPER`` names another address.
        """
        env = os.environ if environ is None else environ
        owner = env.get("PINOT_ZOOKEEPER")
        if address and owner and env.get("PINOT_ZOOKEEPER_PASSWORD"):
            check_owner(
                "password of ZooKeeper (env PINOT_ZOOKEEPER_PASSWORD)",
                AddressSource(address, "setting zookeeper"),
                AddressSource(owner, "env PINOT_ZOOKEEPER"),
            )
        return cls.of(SettingReader.of_environment(env))

    @classmethod
    def of(cls, settings: SettingReader) -> ZooKeeperAccess:
        """Read those settings whose names start with ``zookeeper_``.

        Raises:
            ConfigError: A setting cannot be parsed, or settings contradict each other.
        """

        def text(name: str) -> str | None:
            return settings.text(ZOOKEEPER_PREFIX + name)

        wants_tls, tls = settings.truth(f"{ZOOKEEPER_PREFIX}tls"), settings.tls(ZOOKEEPER_PREFIX)
        has_files = bool(tls.ca_file or tls.client_cert_file or tls.client_key_file)
        if wants_tls is False and has_files:
            raise ConfigError(
                f"{settings.spelling_of(ZOOKEEPER_PREFIX + 'tls')} is false, but TLS files are given",
                remedy="remove the files, or set it to true",
            )
        kind = text("auth")
        if kind is not None and kind not in [*AuthKind]:
            raise ConfigError(
                f"{settings.spelling_of(ZOOKEEPER_PREFIX + 'auth')} is {kind!r}",
                expected=f"one of {', '.join(AuthKind)}",
            )
        return cls(
            tls=tls if wants_tls or has_files else None,
            auth=AuthKind(kind) if kind else None,
            username=text("username"),
            password=settings.secret(f"{ZOOKEEPER_PREFIX}password"),
            service=text("service") or cls.service,
            acl=text("acl") or cls.acl,
        )


def parse_acl(text: str) -> tuple[AclEntry, ...]:
    """Parse an ACL; an empty one lets everyone do everything, as Pinot does.

    Raises:
        ConfigError: The text is not an ACL.
    """
    if text in _NAMED_ACLS:
        return _NAMED_ACLS[text]
    entries = []
    for entry in text.split(";"):
        scheme, _, rest = entry.strip().partition(":")
        identity, _, letters = rest.rpartition(":")
        if not (scheme and identity and letters) or not set(letters) <= set(_LETTERS):
            raise ConfigError(
                f"the ACL {text!r} cannot be parsed at {entry.strip()!r}",
                expected=f"{', '.join(_NAMED_ACLS)}, or scheme:id:permissions;... with letters of {_LETTERS}",
                where="PINOT_ZOOKEEPER_ACL",
            )
        entries.append(AclEntry(scheme, identity, letters))
    return tuple(entries)
