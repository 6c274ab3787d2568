"""The rules for where credentials may go, which every transport asks.

1. Credentials go to the addresses that their owner named, and to no other: neither to the target of a
   redirect, nor to a proxy that can read them, nor to a host that someone else named.
2. If the controllers use TLS, nothing sends the cluster's credentials without it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from controller_client.common.redaction import mask_text
from controller_client.errors import ConfigError

__all__ = [
    "AddressSource",
    "Origin",
    "check_encrypted",
    "check_owner",
    "may_go_beside",
    "may_receive",
    "split_urls",
]

_PORTS = {"http": 80, "https": 443}
# A password in an address may also contain a comma.
_BETWEEN_URLS = re.compile(r",(?=\s*https?://)")


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port of an address: the unit that credentials belong to."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """Read an address.

        Raises:
            ValueError: It is not an http(s) address; the text does not show it, as it may contain a secret.
        """
        try:
            parts = urlsplit(url)
            scheme, host, port = parts.scheme, parts.hostname, parts.port
        except ValueError:
            raise ValueError("the address cannot be parsed") from None
        if scheme not in _PORTS or not host:
            raise ValueError("the address is not http(s)://host[:port]/path")
        return cls(scheme, host, _PORTS[scheme] if port is None else port)

    @property
    def url(self) -> str:
        """The address of its root, without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def split_urls(urls: str) -> list[str]:
    """Split a list of http(s) addresses at its commas."""
    return [url.strip() for url in _BETWEEN_URLS.split(urls)]


def may_receive(url: str, named: Collection[Origin]) -> bool:
    """Whether credentials may go to an address.

    Args:
        url: The address.
        named: What the owner of the credentials named. Another scheme or port of a host is another address.
    """
    try:
        return Origin.of(url) in named
    except ValueError:
        return False


@dataclass(frozen=True)
class AddressSource:
    """Addresses, separated by commas, and the setting that names them, e.g. ``env PINOT_CONTROLLER_URL``."""

    addresses: str
    name: str


def check_owner(secret: str, used: AddressSource, owner: AddressSource | None) -> None:
    """Refuse to send a secret to addresses that are not those of its owner.

    Args:
        secret: The secret and its source, for the error, e.g. ``token (env PINOT_TOKEN)``.
        used: The addresses that would get it.
        owner: The addresses that it belongs to; None: no setting names any, so it may go anywhere.

    Raises:
        ConfigError: One of the addresses is not the owner's.
    """
    if owner is None or _hosts(used.addresses) <= _hosts(owner.addresses):
        return
    shown, owner_shown = (mask_text(source.addresses) for source in (used, owner))
    raise ConfigError(
        f"the {secret} belongs to {owner_shown} ({owner.name}), and is not sent to {shown} ({used.name})",
        expected="credentials and address from the same source",
        remedy=f"give the credentials of {shown} where its address is given; or name it in the setting of "
        f"{owner_shown}, if it is the same cluster",
    )


def _hosts(addresses: str) -> set[str]:
    """Return scheme, host and port of each address, or for ZooKeeper its hosts with their ports."""
    hosts = set()
    for address in split_urls(addresses):
        try:
            hosts.add(Origin.of(address).url)
        except ValueError:
            hosts.update(part.strip().lower() for part in address.partition("/")[0].split(","))
    return hosts


def may_go_beside(controller_scheme: str, *, is_encrypted: bool) -> bool:
    """Whether the cluster's credentials may go over a connection.

    Args:
        controller_scheme: Scheme of the controllers that they are for: with ``https``, they need TLS.
        is_encrypted: Whether the connection uses TLS.
    """
    return is_encrypted or controller_scheme != "https"


def check_encrypted(role: str, urls: Iterable[str], *, controller_scheme: str) -> None:
    """Refuse addresses that would get the credentials of controllers under TLS in clear.

    Args:
        role: What the addresses belong to, e.g. ``broker``.
        urls: The addresses that would get the credentials, without credentials in them.
        controller_scheme: Scheme of the controllers that the credentials are for.

    Raises:
        ConfigError: The controllers use https, and an address does not.
    """
    refused = [
        url for url in urls if not may_go_beside(controller_scheme, is_encrypted=url.startswith("https:"))
    ]
    if refused:
        raise ConfigError(
            f"the {role} {refused[0]} would get the credentials of the cluster without TLS, although the "
            "controllers use https",
            expected="https for both",
            remedy=f"name the {role} with https, or remove the credentials",
        )
