"""How to reach a cluster: addresses, credentials, TLS, timeouts.

Values come from arguments, from the environment by ``from_env``, or from elsewhere by ``of``:
:mod:`~controller_client.connection_settings` has all settings and their environment variables. The maximum
size of a response also applies to configurations that are made of arguments: ``PINOT_MAX_REPLY_BYTES``, in
bytes after decompression; default: 1 GiB.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

from controller_client.common.credential_rules import AddressSource, check_encrypted, check_owner, split_urls
from controller_client.common.parsing import whole_number
from controller_client.common.retry import RetryPolicy
from controller_client.connection_settings import variable_of
from controller_client.credentials import Auth, BasicAuth, BearerToken, Secret, Tls
from controller_client.errors import ConfigError

__all__ = [
    "Auth",
    "BasicAuth",
    "BearerToken",
    "BrokerConfig",
    "ControllerConfig",
    "Secret",
    "SettingReader",
    "Tls",
]

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


class SettingReader:
    """Connection settings as somebody wrote them, somewhere: reads them, and names them in errors.

    Args:
        value_of: Returns the value of a setting by its name in
            :mod:`~controller_client.connection_settings`; an empty one counts as not given.
        spelling_of: Returns the user's name of a setting.
    """

    def __init__(self, value_of: Callable[[str], object], spelling_of: Callable[[str], str]) -> None:
        self._value_of = value_of
        self.spelling_of = spelling_of

    @classmethod
    def of_environment(cls, env: Mapping[str, str]) -> SettingReader:
        """Return a reader of environment variables."""
        return cls(lambda name: env.get(variable_of(name)), variable_of)

    def text(self, name: str) -> str | None:
        """Return the value; None if it is not given."""
        value = self._value_of(name)
        return None if value is None else str(value) or None

    def secret(self, name: str) -> Secret | None:
        """Return the value, which is secret; None if it is not given."""
        text = self.text(name)
        return None if text is None else Secret(text)

    def addresses(self, name: str) -> tuple[str, ...]:
        """Return the parts between commas that are not empty."""
        parts = (part.strip() for part in (self.text(name) or "").split(","))
        return tuple(part for part in parts if part)

    def truth(self, name: str) -> bool | None:
        """Return a truth value; None if it is not given.

        Raises:
            ConfigError: It is neither ``true`` nor ``false``, in any case.
        """
        text = self.text(name)
        if text is None:
            return None
        word = text.strip().lower()
        if word not in ("true", "false"):
            raise ConfigError(f"{self.spelling_of(name)} is {text!r}", expected="true or false")
        return word == "true"

    def seconds(self, name: str, default: float) -> float:
        """Return a number of seconds.

        Raises:
            ConfigError: It is not a number.
        """
        text = self.text(name)
        try:
            return default if text is None else float(text)
        except ValueError as error:
            raise ConfigError(
                f"{self.spelling_of(name)} is {text!r}", expected="a number of seconds"
            ) from error

    def tls(self, prefix: str = "") -> Tls:
        """Return the TLS settings: of controllers and brokers, or those whose names have a prefix.

        Raises:
            ConfigError: ``tls_verify`` is neither true nor false.
        """
        return Tls(
            ca_file=self.text(f"{prefix}ca_file"),
            client_cert_file=self.text(f"{prefix}client_cert_file"),
            client_key_file=self.text(f"{prefix}client_key_file"),
            verify=self.truth(f"{prefix}tls_verify") is not False,
        )

    def auth(self) -> Auth | None:
        """Return the credentials for controllers and brokers.

        Raises:
            ConfigError: Both a token and a user are given.
        """
        token, username = self.secret("token"), self.text("username")
        if token and username:
            raise ConfigError(
                f"both {self.spelling_of('token')} and {self.spelling_of('username')} are set",
                expected="only one of them",
            )
        if token:
            return BearerToken(token)
        return BasicAuth(username, self.secret("password") or Secret("")) if username else None


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
    def at(cls, addresses: ControllerConfig | str) -> ControllerConfig:
        """Return a configuration for addresses, without credentials; a configuration is returned as it is.

        Raises:
            ConfigError: See the class.
        """
        return cls(addresses) if isinstance(addresses, str) else addresses

    @classmethod
    def from_env(
        cls, url: str | None = None, *, environ: Mapping[str, str] | None = None
    ) -> ControllerConfig:
        """Read the environment variables of :mod:`~controller_client.connection_settings`.

        Args:
            url: Overrides ``PINOT_CONTROLLER_URL``.
            environ: Used instead of the process's environment.

        Raises:
            ConfigError: No address is given, a variable cannot be parsed, or ``url`` is not the address that
                the environment names beside its credentials.
        """
        env = os.environ if environ is None else environ
        settings = SettingReader.of_environment(env)
        address = url or settings.text("controller")
        if not address:
            raise ConfigError(
                "no controller address given",
                expected=_ADDRESS,
                where="PINOT_CONTROLLER_URL",
                remedy="set PINOT_CONTROLLER_URL or pass the address",
            )
        _check_owner_of_environment(env, url, "PINOT_CONTROLLER_URL")
        return cls.of(settings, address)

    @classmethod
    def of(cls, settings: SettingReader, url: str) -> ControllerConfig:
        """Read credentials, TLS and timeouts from settings.

        Args:
            settings: The settings; ``controller`` among them is not used.
            url: Base addresses, separated by commas.

        Raises:
            ConfigError: A setting cannot be parsed, or settings contradict each other.
        """
        return cls(
            url=url,
            auth=settings.auth(),
            tls=settings.tls(),
            connect_timeout_s=settings.seconds("connect_timeout_s", cls.connect_timeout_s),
            read_timeout_s=settings.seconds("read_timeout_s", cls.read_timeout_s),
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
    def at(cls, addresses: BrokerConfig | Iterable[str] | str) -> BrokerConfig:
        """Return a configuration for addresses, without credentials; a configuration is returned as it is.

        Raises:
            ConfigError: See the class.
        """
        if isinstance(addresses, BrokerConfig):
            return addresses
        return cls(tuple(split_urls(addresses) if isinstance(addresses, str) else addresses))

    @classmethod
    def from_env(
        cls, urls: tuple[str, ...] | None = None, *, environ: Mapping[str, str] | None = None
    ) -> BrokerConfig | None:
        """Read the environment variables of :mod:`~controller_client.connection_settings`.

        Returns:
            None when neither the argument nor the environment names a broker: get them from the controller
            (:meth:`controller_client.rest.cluster.ClusterApi.broker_urls`).

        Raises:
            ConfigError: A variable cannot be parsed, or the credentials belong to other brokers, or would go
                to a broker without TLS although ``PINOT_CONTROLLER_URL`` has it.
        """
        env = os.environ if environ is None else environ
        settings = SettingReader.of_environment(env)
        addresses = urls or settings.addresses("broker")
        if not addresses:
            return None
        _check_owner_of_environment(env, ",".join(urls or ()), "PINOT_BROKER_URL")
        config = cls(
            urls=addresses,
            auth=settings.auth(),
            tls=settings.tls(),
            connect_timeout_s=settings.seconds("connect_timeout_s", cls.connect_timeout_s),
            read_timeout_s=settings.seconds("read_timeout_s", cls.read_timeout_s),
        )
        config._check_encrypted(env.get("PINOT_CONTROLLER_URL", "").strip().partition(":")[0])
        return config

    @classmethod
    def like(cls, controller: ControllerConfig, urls: tuple[str, ...]) -> BrokerConfig:
        """Return a configuration with the credentials and TLS settings of a controller's.

        Raises:
            ConfigError: The credentials would go to an address without TLS although the controller has it.
        """
        config = cls(
            urls=urls,
            auth=controller.auth,
            tls=controller.tls,
            connect_timeout_s=controller.connect_timeout_s,
            max_reply_bytes=controller.max_reply_bytes,
        )
        config._check_encrypted(controller.scheme)
        return config

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
    if not (0 < connect_timeout_s < math.inf and 0 < read_timeout_s < math.inf):
        raise ConfigError("a timeout is not positive", expected="a number of seconds greater than 0")


def _check_owner_of_environment(env: Mapping[str, str], given: str | None, variable: str) -> None:
    owner = env.get(variable)
    if given and owner and (env.get("PINOT_TOKEN") or env.get("PINOT_USERNAME")):
        check_owner(
            "credentials in the environment", AddressSource(given, "argument"), AddressSource(owner, variable)
        )
