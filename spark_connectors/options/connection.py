"""Connection options, shared by reading and writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from controller_client.client import ControllerClient
from controller_client.common.operator_secrets import resolve_option, resolve_options
from controller_client.common.parsing import boolean, count, text
from controller_client.common.redaction import mask_text
from controller_client.config import Auth, BasicAuth, BearerToken, ControllerConfig, Secret, Tls
from controller_client.errors import ConfigError
from controller_client.filestore.kinds import property_names
from controller_client.zookeeper_access import ACCESS_SETTINGS, ZooKeeperAccess
from spark_connectors.options.declared import option, prefixed

__all__ = ["ConnectionOptions"]

_MILLIS = 1000
_FS = "fs.prop."
_ZOOKEEPER = "zookeeper."


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


_OF_ZOOKEEPER = {_camel(name): name for name in ACCESS_SETTINGS}


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
        "ZooKeeper address: `host:port,…[/chroot]`.",
        default=None,
        shown_default="reported by the controller",
    )
    zookeeper_settings: Mapping[str, str] = prefixed(
        _ZOOKEEPER,
        "Access to ZooKeeper: `tls`, `caFile`, `clientCertFile`, `clientKeyFile`, `tlsVerify`, `auth`,"
        " `username`, `password`, `service`, `acl`. Default: taken from the environment. Values may be"
        " references.",
        keys=_OF_ZOOKEEPER,
    )
    use_https: bool = option(
        "useHttps",
        boolean,
        "Whether `host:port` addresses use https.",
        default=False,
        aliases=("secureMode",),
    )
    username: str | None = option("username", text, "User name for basic authentication.", default=None)
    password: Secret | None = option(
        "password", Secret, "Password for basic authentication, or a reference.", default=None, secret=True
    )
    auth_token: Secret | None = option(
        "authToken",
        Secret,
        "Bearer token without the prefix `Bearer`, or a reference.",
        default=None,
        secret=True,
    )
    ca_file: str | None = option("tlsCaFile", text, "Trusted certificate authorities (PEM).", default=None)
    client_cert_file: str | None = option(
        "tlsClientCertFile", text, "Client certificate (PEM).", default=None
    )
    client_key_file: str | None = option(
        "tlsClientKeyFile", text, "Private key of the client certificate (PEM).", default=None
    )
    tls_verify: bool = option("tlsVerify", boolean, "Whether certificates are verified.", default=True)
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
            if key not in _OF_ZOOKEEPER:
                raise ConfigError(
                    f"unknown option '{_ZOOKEEPER}{key}'",
                    expected=", ".join(_ZOOKEEPER + each for each in _OF_ZOOKEEPER),
                )
        settings = resolve_options(self.zookeeper_settings, _ZOOKEEPER)
        values = {name: settings.get(key) for key, name in _OF_ZOOKEEPER.items()}
        keys = {name: key for key, name in _OF_ZOOKEEPER.items()}
        return ZooKeeperAccess.of(values, lambda name: f"{_ZOOKEEPER}{keys[name]}")

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
