"""The properties of an Iceberg catalog in a task's config; importable without pyiceberg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from controller_client.common.references import has_reference
from controller_client.common.text import did_you_mean, visible
from controller_client.errors import ConfigError

__all__ = ["FROM_SERVER", "STORE_GROUPS", "IcebergTable", "check_properties", "secret_values"]

_SCHEME = "iceberg"

_S3 = (
    *("s3.endpoint", "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "s3.region"),
    *("s3.force-virtual-addressing", "s3.anonymous", "s3.connect-timeout", "s3.request-timeout"),
)
_GCS = ("gcs.oauth2.token", "gcs.project-id")
_ADLS = (
    *("adls.account-name", "adls.account-key", "adls.sas-token"),
    *("adls.tenant-id", "adls.client-id", "adls.client-secret"),
)
STORE_GROUPS = (frozenset(_S3), frozenset(_GCS), frozenset(_ADLS))
"""Properties of stores; those of a group have one owner, the config or the catalog's server."""

FROM_SERVER = frozenset({"prefix", "namespace-separator", "snapshot-loading-mode", "warehouse"})
"""Properties of a REST catalog that its server may set."""

_COMMON = ("type", "uri", "warehouse", *_S3, *_GCS, *_ADLS)
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "rest": ("credential", "token", "scope", "audience", "oauth2-server-uri", "prefix"),
    "sql": (),
    "hive": (),
    "glue": ("glue.id", "glue.region", "glue.access-key-id", "glue.secret-access-key", "glue.session-token"),
}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SHOWN = frozenset(
    {"type", "warehouse", "scope", "prefix", "glue.id", "glue.region", "gcs.project-id", "adls.account-name"}
    | {key for key in _S3 if "key" not in key and "token" not in key}
)


@dataclass(frozen=True)
class IcebergTable:
    """The table that an ``inputDirURI`` names: ``iceberg://CATALOG/NAMESPACE.TABLE``.

    Attributes:
        catalog: The catalog's name.
        name: Namespace, with its parts, and table.
    """

    catalog: str
    name: tuple[str, ...]

    @classmethod
    def parse(cls, uri: str) -> IcebergTable:
        """Read a URI.

        Raises:
            ConfigError: It does not name a table of a catalog.
        """
        scheme, _, rest = uri.partition("://")
        catalog, _, table = rest.rstrip("/").partition("/")
        name = tuple(table.split("."))
        if scheme.lower() != _SCHEME or not catalog or len(name) < 2 or not all(name) or "/" in table:
            raise ConfigError(
                f"inputDirURI does not name an Iceberg table: {visible(uri)}",
                expected="iceberg://CATALOG/NAMESPACE.TABLE, e.g. iceberg://prod/sales.orders",
                remedy="set the catalog's properties, such as uri, with input.fs.prop.*",
            )
        return cls(catalog, name)


def check_properties(properties: Mapping[str, str]) -> None:
    """Check a catalog's properties as far as possible before the values of references are known.

    Raises:
        ConfigError: One is unknown or missing, or credentials would go over http.
    """
    kind = properties.get("type", "")
    if kind not in _OF_TYPE:
        raise ConfigError(
            f"input.fs.prop.type is {kind!r}" if kind else "input.fs.prop.type is missing",
            expected="the type of the Iceberg catalog: " + ", ".join(_OF_TYPE),
        )
    names = (*_COMMON, *_OF_TYPE[kind])
    for key in properties:
        if key not in names:
            raise ConfigError(
                f"an Iceberg catalog of type {kind} has no property {key!r} here",
                expected="one of " + ", ".join(sorted(names)),
                remedy=did_you_mean(key, names, otherwise="remove it"),
            )
    if kind != "glue" and "uri" not in properties:
        raise ConfigError("input.fs.prop.uri is missing", expected=f"the address of the {kind} catalog")
    if kind == "rest":
        _check_address("uri", properties)
        if "oauth2-server-uri" in properties:
            _check_address("oauth2-server-uri", properties)


def _check_address(key: str, properties: Mapping[str, str]) -> None:
    address = properties[key]
    parts = urlsplit(address)
    if has_reference(address) or parts.username or parts.password or parts.scheme not in ("http", "https"):
        raise ConfigError(
            f"input.fs.prop.{key} is not the plain address of a REST catalog",
            expected="https://host/path, without credentials and references",
        )
    has_secret = "credential" in properties or "token" in properties
    if parts.scheme == "http" and has_secret and parts.hostname not in _LOOPBACK:
        raise ConfigError(
            f"input.fs.prop.{key} would get the catalog's credentials without TLS",
            expected="https, or an address of this machine",
        )


def secret_values(properties: Mapping[str, str]) -> list[str]:
    """Return the values that no message may show."""
    return [value for key, value in properties.items() if key not in _SHOWN and not value.startswith("http")]
