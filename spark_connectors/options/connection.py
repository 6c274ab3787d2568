"""How to reach the cluster: the options that reading and writing share."""

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
    """Where the cluster and the table are, with which credentials.

    References in credentials stay as they are in plans and pickles; each process resolves them at use.
    """

    table: str = option("table", text, "The table, with or without `_OFFLINE` or `_REALTIME`.")
    controller: str = option(
        "controller",
        text,
        "The controllers, comma-separated: `http://host:port`, or `host:port` with `useHttps` deciding.",
    )
    zookeeper: str | None = option(
        "zookeeper",
        text,
        "ZooKeeper as `host:port,…[/chroot]`.",
        default=None,
        shown_default="as the controller reports",
    )
    zookeeper_settings: Mapping[str, str] = prefixed(
        _ZOOKEEPER,
        "How to come into ZooKeeper: `tls`, `caFile`, `clientCertFile`, `clientKeyFile`, `tlsVerify`, `auth`,"
        " `username`, `password`, `service`, `acl`; without any of them, as the environment says. Values may"
        " be references.",
        keys=_OF_ZOOKEEPER,
    )
    use_https: bool = option(
        "useHttps", boolean, "Whether a `host:port` is https.", default=False, aliases=("secureMode",)
    )
    username: str | None = option("username", text, "User of basic authentication.", default=None)
    password: Secret | None = option(
        "password", Secret, "Password of basic authentication, or a reference.", default=None, secret=True
    )
    auth_token: Secret | None = option(
        "authToken", Secret, "Bearer token, without `Bearer`, or a reference.", default=None, secret=True
    )
    ca_file: str | None = option("tlsCaFile", text, "Certificate authorities to trust (PEM).", default=None)
    client_cert_file: str | None = option(
        "tlsClientCertFile", text, "Client certificate (PEM).", default=None
    )
    client_key_file: str | None = option("tlsClientKeyFile", text, "Its key (PEM).", default=None)
    tls_verify: bool = option("tlsVerify", boolean, "Whether certificates are checked.", default=True)
    connect_timeout_ms: int = option(
        "connectTimeoutMs", count, "Milliseconds to a connection.", default=5_000
    )
    read_timeout_ms: int = option(
        "readTimeoutMs", count, "Milliseconds to an answer of the controller.", default=60_000
    )
    fs_properties: Mapping[str, str] = prefixed(
        _FS,
        "Properties of the file system of the staging folder, or of the deep store for `readFrom` segments, "
        "e.g. `region`, `endpoint`, `accessKey`, `secretKey` of S3. Values may be references.",
        keys=property_names(),
    )

    def __post_init__(self) -> None:
        if self.auth_token is not None and self.username is not None:
            raise ConfigError("both 'authToken' and 'username' are set", remedy="set one of them")
        if self.password is not None and self.username is None:
            raise ConfigError("the option 'password' is set without 'username'")
        self.controller_config()  # a wrong address is reported now
        self.zookeeper_access()

    def __repr__(self) -> str:
        # Credentials may stand in any address.
        values = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return mask_text(f"{type(self).__name__}({', '.join(values)})")

    def controller_config(self) -> ControllerConfig:
        """Make the client's configuration."""
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
        """How to come into ZooKeeper; None: as the environment says."""
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
        """Open a client; the caller closes it."""
        return ControllerClient(self.controller_config())

    def resolved_fs_properties(self) -> dict[str, str]:
        """Return the file system's properties with their references replaced, for this process alone.

        Raises:
            ConfigError: One cannot be resolved here.
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
