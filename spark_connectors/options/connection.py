"""Connection options, shared by reading and writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from controller_client.client import ControllerClient
from controller_client.common.operator_secrets import resolve_option, resolve_options
from controller_client.common.parsing import boolean, count, text
from controller_client.common.redaction import mask_text
from controller_client.config import (
    Auth,
    BasicAuth,
    BearerToken,
    ControllerConfig,
    Secret,
    SettingReader,
    Tls,
)
from controller_client.connection_settings import ZOOKEEPER_PREFIX, ZOOKEEPER_SETTINGS, description_of
from controller_client.errors import ConfigError
from controller_client.filestore.kinds import property_names
from controller_client.zookeeper_access import ZooKeeperAccess
from spark_connectors.options.declared import option, prefixed

__all__ = ["ConnectionOptions"]

_MILLIS = 1000
_FS = "fs.prop."
_ZOOKEEPER = "zookeeper."


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


_OF_ZOOKEEPER = {ZOOKEEPER_PREFIX + name: _camel(name) for name in ZOOKEEPER_SETTINGS}
"""Key after the prefix for each setting."""


@dataclass(frozen=True, repr=False)
class ConnectionOptions:
    """The cluster, the table, and the credentials.

    References in credentials stay unresolved in plans and pickles; each process resolves them on use.
    """

    table: str = option("table", text, "Table name, with or without `_OFFLINE` or `_REALTIME`.")
    controller: str = option(
        "controller",
        text,
        "Controllers, comma-separated: `http://host:port`, or `host:port`, whose scheme `useHttps` selects.",
    )
    zookeeper: str | None = option(
        "zookeeper",
        text,
        description_of("zookeeper"),
        default=None,
        shown_default="reported by the controller",
    )
    zookeeper_settings: Mapping[str, str] = prefixed(
        _ZOOKEEPER,
        f"Access to ZooKeeper: {', '.join(f'`{key}`' for key in _OF_ZOOKEEPER.values())}. "
        "Default: taken from the environment. Values may be references.",
        keys=_OF_ZOOKEEPER.values(),
    )
    use_https: bool = option(
        "useHttps",
        boolean,
        "Whether `host:port` addresses use https.",
        default=False,
        aliases=("secureMode",),
    )
    username: str | None = option("username", text, description_of("username"), default=None)
    password: Secret | None = option(
        "password", Secret, f"{description_of('password')} It may be a reference.", default=None, secret=True
    )
    auth_token: Secret | None = option(
        "authToken",
        Secret,
        f"{description_of('token')} It may be a reference.",
        default=None,
        secret=True,
    )
    ca_file: str | None = option("tlsCaFile", text, description_of("ca_file"), default=None)
    client_cert_file: str | None = option(
        "tlsClientCertFile", text, description_of("client_cert_file"), default=None
    )
    client_key_file: str | None = option(
        "tlsClientKeyFile", text, description_of("client_key_file"), default=None
    )
    tls_verify: bool = option("tlsVerify", boolean, description_of("tls_verify"), default=True)
    connect_timeout_ms: int = option(
        "connectTimeoutMs", count, "Connection time-out in milliseconds.", default=5_000
    )
    read_timeout_ms: int = option(
        "readTimeoutMs", count, "Time-out for responses of the controller in milliseconds.", default=60_000
    )
    fs_properties: Mapping[str, str] = prefixed(
        _FS,
        "File system properties of the staging folder or, with `readFrom` segments, of the deep store, "
        "e.g. `region`, `endpoint`, `accessKey`, `secretKey` for S3. Values may be references.",
        keys=property_names(),
    )

    def __post_init__(self) -> None:
        if self.auth_token is not None and self.username is not None:
            raise ConfigError("both 'authToken' and 'username' are set", remedy="set only one of them")
        if self.password is not None and self.username is None:
            raise ConfigError("the option 'password' is set without 'username'")
        self.controller_config()  # reports an invalid address now
        self.zookeeper_access()

    def __repr__(self) -> str:
        # Any address may contain credentials.
        values = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return mask_text(f"{type(self).__name__}({', '.join(values)})")

    def controller_config(self) -> ControllerConfig:
        """Return the configuration of the controller client."""
        scheme = "https" if self.use_https else "http"
        addresses = [self.controller] if "://" in self.controller else self.controller.split(",")
        return ControllerConfig(
            ",".join(each if "://" in each else f"{scheme}://{each.strip()}" for each in addresses),
            auth=self._auth(),
            tls=Tls(self.ca_file, self.client_cert_file, self.client_key_file, self.tls_verify),
            connect_timeout_s=self.connect_timeout_ms / _MILLIS,
            read_timeout_s=self.read_timeout_ms / _MILLIS,
        )

    def zookeeper_access(self) -> ZooKeeperAccess | None:
        """Return the access settings for ZooKeeper; None: those of the environment."""
        if not self.zookeeper_settings:
            return None
        for key in self.zookeeper_settings:
            if key not in _OF_ZOOKEEPER.values():
                raise ConfigError(
                    f"unknown option '{_ZOOKEEPER}{key}'",
                    expected=", ".join(_ZOOKEEPER + known for known in _OF_ZOOKEEPER.values()),
                )
        values = resolve_options(self.zookeeper_settings, _ZOOKEEPER)
        settings = SettingReader(
            lambda name: values.get(_OF_ZOOKEEPER[name]), lambda name: _ZOOKEEPER + _OF_ZOOKEEPER[name]
        )
        return ZooKeeperAccess.of(settings)

    def client(self) -> ControllerClient:
        """Open a controller client, which the caller closes."""
        return ControllerClient(self.controller_config())

    def resolved_fs_properties(self) -> dict[str, str]:
        """Return the file system properties with references resolved, for use in this process only.

        Raises:
            ConfigError: A reference cannot be resolved here.
        """
        return resolve_options(self.fs_properties, _FS)

    def _auth(self) -> Auth | None:
        if self.auth_token is not None:
            return BearerToken(_resolved("authToken", self.auth_token))
        if self.username is not None:
            username = resolve_option("username", self.username)
            return BasicAuth(username, _resolved("password", self.password or Secret("")))
        return None


def _resolved(name: str, secret: Secret) -> Secret:
    return Secret(resolve_option(name, secret.reveal()))
