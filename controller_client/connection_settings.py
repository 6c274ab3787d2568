"""The settings by which a process reaches a cluster, declared once.

Each place where users write them derives its spelling from the names here:

=====================  ==================================================  =============================
where                  spelling                                            example
=====================  ==================================================  =============================
environment            :attr:`ConnectionSetting.env`                       ``PINOT_ZOOKEEPER_CA_FILE``
profile of pinotctl    the name; of a secret, of the file that has it      ``zookeeper_password_file``
connection in Airflow  key of the extra; user and password have fields     ``zookeeper_ca_file``
option of Spark        in camel case, for ZooKeeper after ``zookeeper.``   ``zookeeper.caFile``
=====================  ==================================================  =============================

Three are older than this list: ``user`` in profiles, and ``authToken`` and the prefix ``tls`` in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CONNECTION_SETTINGS",
    "ZOOKEEPER_PREFIX",
    "ZOOKEEPER_SETTINGS",
    "ConnectionSetting",
    "description_of",
    "variable_of",
]

ZOOKEEPER_PREFIX = "zookeeper_"
"""Starts the names of all settings for the access to ZooKeeper."""

_FROM_CONTROLLER = "read from the controller"


@dataclass(frozen=True)
class ConnectionSetting:
    """One setting.

    Attributes:
        name: Its name.
        description: One sentence for users.
        default: The default, in words; empty if there is none.
        is_secret: Whether the value must not be shown.
        env: Environment variable.
    """

    name: str
    description: str
    default: str = ""
    is_secret: bool = False
    env: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "env", self.env or f"PINOT_{self.name.upper()}")


def _of_zookeeper(
    name: str, description: str, default: str = "", *, is_secret: bool = False
) -> ConnectionSetting:
    return ConnectionSetting(ZOOKEEPER_PREFIX + name, description, default, is_secret)


CONNECTION_SETTINGS = (
    ConnectionSetting("controller", "URLs of the controllers, comma-separated.", env="PINOT_CONTROLLER_URL"),
    ConnectionSetting(
        "broker", "URLs of the brokers, comma-separated.", _FROM_CONTROLLER, env="PINOT_BROKER_URL"
    ),
    ConnectionSetting("zookeeper", "ZooKeeper address: host:port,...[/chroot].", _FROM_CONTROLLER),
    ConnectionSetting("cluster_name", "Name of the cluster in Helix.", _FROM_CONTROLLER),
    ConnectionSetting("username", "User name for basic authentication."),
    ConnectionSetting("password", "Password for basic authentication.", is_secret=True),
    ConnectionSetting("token", "Bearer token, without the prefix Bearer.", is_secret=True),
    ConnectionSetting("ca_file", "CA certificates (PEM) to verify the cluster's certificates."),
    ConnectionSetting("client_cert_file", "Client certificate (PEM)."),
    ConnectionSetting("client_key_file", "Key (PEM) of the client certificate.", "in the same file"),
    ConnectionSetting("tls_verify", "Whether to verify the cluster's certificates.", "true"),
    ConnectionSetting("connect_timeout_s", "Seconds to wait for a connection.", "5"),
    ConnectionSetting("read_timeout_s", "Seconds to wait for a response of the controller.", "30"),
    _of_zookeeper("tls", "Whether to reach ZooKeeper over TLS; implied by any of the TLS files."),
    _of_zookeeper("ca_file", "CA certificates (PEM) to verify ZooKeeper's certificate.", "the system's"),
    _of_zookeeper("client_cert_file", "Client certificate (PEM) for ZooKeeper."),
    _of_zookeeper(
        "client_key_file", "Key (PEM) of the client certificate for ZooKeeper.", "in the same file"
    ),
    _of_zookeeper("tls_verify", "Whether to verify ZooKeeper's certificate and host name.", "true"),
    _of_zookeeper("auth", "Authentication to ZooKeeper: digest, sasl-digest or sasl-kerberos."),
    _of_zookeeper("username", "ZooKeeper user, for digest and sasl-digest."),
    _of_zookeeper("password", "Password of the ZooKeeper user.", is_secret=True),
    _of_zookeeper("service", "Kerberos name of ZooKeeper's service.", "zookeeper"),
    _of_zookeeper(
        "acl", "ACL of new znodes: open, creator, creator+read, or scheme:id:permissions;...", "open"
    ),
)
"""All settings."""

ZOOKEEPER_SETTINGS = tuple(
    setting.name.removeprefix(ZOOKEEPER_PREFIX)
    for setting in CONNECTION_SETTINGS
    if setting.name.startswith(ZOOKEEPER_PREFIX)
)
"""Names of the settings for the access to ZooKeeper, without the prefix."""

_DESCRIPTIONS = {setting.name: setting.description for setting in CONNECTION_SETTINGS}
_VARIABLES = {setting.name: setting.env for setting in CONNECTION_SETTINGS}


def description_of(name: str) -> str:
    """Return the description of a setting."""
    return _DESCRIPTIONS[name]


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return _VARIABLES[name]
