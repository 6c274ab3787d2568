"""How to reach a cluster: addresses, credentials, TLS, timeouts.

Values come from arguments or, by ``from_env``, from the environment:

==============================  ======================================================
``PINOT_CONTROLLER_URL``        controllers, comma-separated, e.g. ``http://localhost:9000``
``PINOT_BROKER_URL``            brokers, comma-separated; default: those the controller lists
``PINOT_USERNAME/_PASSWORD``    basic authentication
``PINOT_TOKEN``                 bearer token
``PINOT_CA_FILE``               certificate authorities (PEM) to trust
``PINOT_CLIENT_CERT_FILE``      client certificate (PEM)
``PINOT_CLIENT_KEY_FILE``       its key (PEM)
``PINOT_TLS_VERIFY``            ``false`` turns certificate checks off
``PINOT_CONNECT_TIMEOUT_S``     seconds to wait for a connection
``PINOT_READ_TIMEOUT_S``        seconds to wait for a response
``PINOT_MAX_REPLY_BYTES``       maximum size of a response, decompressed; default: 1 GiB
==============================  ======================================================

The last one also applies to configurations that are made of arguments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

from controller_client.common.credential_rules import AddressSource, check_encrypted, check_owner, split_urls
from controller_client.common.parsing import whole_number
from controller_client.common.retry import RetryPolicy
from controller_client.credentials import Auth, BasicAuth, BearerToken, Secret, Tls
from controller_client.errors import ConfigError

__all__ = ["Auth", "BasicAuth", "BearerToken", "BrokerConfig", "ControllerConfig", "Secret", "Tls"]

_ADDRESS = "an address like http://localhost:9000"
_MAX_REPLY_BYTES = "PINOT_MAX_REPLY_BYTES"


def max_reply_bytes() -> int:
    """Return the maximum size of a response, as set in the environment.

    Raises:
        ConfigError: The variable is not a number.
    """
    text = os.environ.get(_MAX_REPLY_BYTES) or str(1 << 30)
    number = whole_number(text)
    if not number:
        raise ConfigError(f"{_MAX_REPLY_BYTES} is {text!r}", expected="a number of bytes, at least 1")
    return number


@dataclass(frozen=True)
class ControllerConfig:
    """How to reach a cluster's controllers.

    Attributes:
        url: Base addresses without credentials, separated by commas: when one cannot be reached, the next is
            tried. Credentials in an address (``http://user:password@host``) are moved to ``auth``.
        auth: Credentials.
        tls: TLS settings.
        connect_timeout_s: Seconds to wait for a connection.
        read_timeout_s: Seconds to wait for a response; calls that take longer set their own.
        retry: How calls that are safe to repeat are retried.
        max_reply_bytes: Maximum size of a response's body, decompressed; files to download have other limits.

    Raises:
        ConfigError: An address is not an http(s) address, the schemes differ, or a timeout is not positive.
    """

    url: str
    auth: Auth | None = None
    tls: Tls = field(default_factory=Tls)
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 30.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    max_reply_bytes: int = field(default_factory=max_reply_bytes)

    def __post_init__(self) -> None:
        urls, auth = _split_all(split_urls(self.url), self.auth, "controller URL")
        object.__setattr__(self, "url", ",".join(urls))
        object.__setattr__(self, "auth", auth)
        _check_timeouts(self.connect_timeout_s, self.read_timeout_s)

    @property
    def urls(self) -> tuple[str, ...]:
        """The base addresses."""
        return tuple(split_urls(self.url))

    @property
    def scheme(self) -> str:
        """``http`` or ``https``."""
        return self.url.partition(":")[0]

    @classmethod
    def from_env(
        cls, url: str | None = None, *, environ: Mapping[str, str] | None = None
    ) -> ControllerConfig:
        """Read the environment variables of the module's table.

        Args:
            url: Overrides ``PINOT_CONTROLLER_URL``.
            environ: Used instead of the process's environment.

        Raises:
            ConfigError: No address is given, a variable cannot be parsed, or ``url`` is not the address that
                the environment names beside its credentials.
        """
        env = os.environ if environ is None else environ
        address = url or env.get("PINOT_CONTROLLER_URL")
        if not address:
            raise ConfigError(
                "no controller address given",
                expected=_ADDRESS,
                where="PINOT_CONTROLLER_URL",
                remedy="set PINOT_CONTROLLER_URL or pass the address",
            )
        return cls(
            url=address,
            auth=_auth_from_env(env, url, "PINOT_CONTROLLER_URL"),
            tls=_tls_from_env(env),
            connect_timeout_s=_seconds(env, "PINOT_CONNECT_TIMEOUT_S", cls.connect_timeout_s),
            read_timeout_s=_seconds(env, "PINOT_READ_TIMEOUT_S", cls.read_timeout_s),
        )


@dataclass(frozen=True)
class BrokerConfig:
    """How to reach the brokers.

    Attributes:
        urls: Base addresses without credentials; when one cannot be reached, the next is tried.
        auth: Credentials.
        tls: TLS settings.
        connect_timeout_s: Seconds to wait for a connection.
        read_timeout_s: Seconds to wait for a response when the query has no timeout of its own.
        retry: How often, and with which pauses, to go through all brokers.
        max_reply_bytes: Maximum size of a response's body, decompressed.

    Raises:
        ConfigError: No address is given, one is not an http(s) address, or the schemes differ.
    """

    urls: tuple[str, ...]
    auth: Auth | None = None
    tls: Tls = field(default_factory=Tls)
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 60.0
    retry: RetryPolicy = field(default_factory=lambda: RetryPolicy(attempts=3))
    max_reply_bytes: int = field(default_factory=max_reply_bytes)

    def __post_init__(self) -> None:
        if not self.urls:
            raise ConfigError(
                "no broker address given", expected="at least one address like http://localhost:8099"
            )
        urls, auth = _split_all(self.urls, self.auth, "broker URL")
        object.__setattr__(self, "urls", urls)
        object.__setattr__(self, "auth", auth)
        _check_timeouts(self.connect_timeout_s, self.read_timeout_s)

    @classmethod
    def from_env(
        cls, urls: tuple[str, ...] | None = None, *, environ: Mapping[str, str] | None = None
    ) -> BrokerConfig | None:
        """Read the environment variables of the module's table.

        Returns:
            None when neither the argument nor the environment names a broker: get them from the controller
            (:meth:`controller_client.rest.cluster.ClusterApi.broker_urls`).

        Raises:
            ConfigError: A variable cannot be parsed, or the credentials belong to other brokers, or would go
                to a broker without TLS although ``PINOT_CONTROLLER_URL`` has it.
        """
        env = os.environ if environ is None else environ
        named = [part.strip() for part in env.get("PINOT_BROKER_URL", "").split(",")]
        addresses = urls or tuple(part for part in named if part)
        if not addresses:
            return None
        made = cls(
            urls=addresses,
            auth=_auth_from_env(env, ",".join(urls or ()), "PINOT_BROKER_URL"),
            tls=_tls_from_env(env),
            connect_timeout_s=_seconds(env, "PINOT_CONNECT_TIMEOUT_S", cls.connect_timeout_s),
            read_timeout_s=_seconds(env, "PINOT_READ_TIMEOUT_S", cls.read_timeout_s),
        )
        made._check_encrypted(env.get("PINOT_CONTROLLER_URL", "").strip().partition(":")[0])
        return made

    @classmethod
    def like(cls, controller: ControllerConfig, urls: tuple[str, ...]) -> BrokerConfig:
        """Return a configuration with the credentials and TLS settings of a controller's.

        Raises:
            ConfigError: The credentials would go to an address without TLS although the controller has it.
        """
        made = cls(
            urls=urls,
            auth=controller.auth,
            tls=controller.tls,
            connect_timeout_s=controller.connect_timeout_s,
            max_reply_bytes=controller.max_reply_bytes,
        )
        made._check_encrypted(controller.scheme)
        return made

    def _check_encrypted(self, controller_scheme: str) -> None:
        if self.auth is not None:
            check_encrypted("broker or server", self.urls, controller_scheme=controller_scheme)


def _split_all(urls: Iterable[str], auth: Auth | None, name: str) -> tuple[tuple[str, ...], Auth | None]:
    clean = []
    for url in urls:
        address, auth = _split_credentials(url.strip(), auth, name)
        clean.append(address)
    # Credentials meant for TLS must never go to an address without it.
    if len({address.partition(":")[0] for address in clean}) > 1:
        raise ConfigError(
            f"some {name}s use http and others https", expected="the same scheme for all of them"
        )
    return tuple(clean), auth


def _split_credentials(url: str, auth: Auth | None, name: str) -> tuple[str, Auth | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
        if ":" not in (parts.hostname or ""):
            (parts.hostname or "").encode("idna")  # refuses empty and too long parts of a name
    except ValueError:
        # The value may contain a password, and the cause's text repeats it, so neither is shown.
        raise ConfigError(f"the {name} cannot be parsed", expected=_ADDRESS) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"the {name} is not an http or https address", expected="an address like http://localhost:9000"
        )
    if parts.query or parts.fragment:
        raise ConfigError(
            f"the {name} has a query or a fragment", expected="an address like http://localhost:9000"
        )
    if parts.username is not None:
        if auth is not None:
            raise ConfigError(
                f"the {name} contains credentials, but others are given too",
                remedy="give the credentials in one place",
            )
        auth = BasicAuth(unquote(parts.username), Secret(unquote(parts.password or "")))
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if port is None else f"{host}:{port}"
    return urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", "")), auth


def _check_timeouts(connect_timeout_s: float, read_timeout_s: float) -> None:
    if connect_timeout_s <= 0 or read_timeout_s <= 0:
        raise ConfigError("a timeout is not positive", expected="a number of seconds greater than 0")


def _auth_from_env(env: Mapping[str, str], given: str | None, variable: str) -> Auth | None:
    token, username = env.get("PINOT_TOKEN"), env.get("PINOT_USERNAME")
    if given and (token or username) and (owner := env.get(variable)):
        check_owner(
            "credentials in the environment", AddressSource(given, "argument"), AddressSource(owner, variable)
        )
    if token and username:
        raise ConfigError("both PINOT_TOKEN and PINOT_USERNAME are set", expected="only one of them")
    if token:
        return BearerToken(Secret(token))
    if username:
        return BasicAuth(username, Secret(env.get("PINOT_PASSWORD", "")))
    return None


def _tls_from_env(env: Mapping[str, str]) -> Tls:
    verify = env.get("PINOT_TLS_VERIFY", "true").strip().lower()
    if verify not in ("true", "false"):
        raise ConfigError(f"PINOT_TLS_VERIFY is {verify!r}", expected="true or false")
    return Tls(
        ca_file=env.get("PINOT_CA_FILE") or None,
        client_cert_file=env.get("PINOT_CLIENT_CERT_FILE") or None,
        client_key_file=env.get("PINOT_CLIENT_KEY_FILE") or None,
        verify=verify == "true",
    )


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name)
    if not text:
        return default
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"{name} is {text!r}", expected="a number of seconds") from error
