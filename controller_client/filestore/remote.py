"""Google Cloud Storage, Azure and HDFS through fsspec: what their properties are called there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from controller_client.common.extras import missing_module
from controller_client.errors import ConfigError

if TYPE_CHECKING:
    from controller_client.filestore.base import FileStore

__all__ = ["AZURE", "GCS", "WEBHDFS", "RemoteKind"]


@dataclass(frozen=True)
class RemoteKind:
    """A kind of store that fsspec opens.

    Attributes:
        fs_class: PinotFS class of the same meaning.
        protocol: Its name in fsspec.
        extra: The extra of this project that brings what it needs.
        options: By the name of a property, fsspec's option and how its text is read.
        fixed: Further options.
        version_key: As of :class:`~controller_client.filestore.fsspec_store.StoreTraits`.
        is_file_system: As of that.
    """

    fs_class: str
    protocol: str
    extra: str
    options: Mapping[str, tuple[str, Callable[[str], Any]]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    version_key: str | None = None
    is_file_system: bool = False

    @property
    def properties(self) -> Sequence[str]:
        """Names of the properties."""
        return tuple(self.options)

    def open(self, uri: str, properties: Mapping[str, str]) -> FileStore:
        """Open the store; properties are of known names.

        Raises:
            SetupError: A module is missing.
            ConfigError: They make no store.
        """
        try:
            from controller_client.filestore.fsspec_store import FsspecStore, StoreTraits

            traits = StoreTraits(self.protocol, self.version_key, self.is_file_system)
            return FsspecStore(uri, traits, {**self.fixed, **self.read(properties)})
        except ModuleNotFoundError as error:
            raise missing_module(error, f"the file system {self.protocol}", (self.extra,)) from None

    def read(self, properties: Mapping[str, str]) -> dict[str, Any]:
        """Return fsspec's options.

        Raises:
            ConfigError: A text cannot be read; the error does not show it.
        """
        found = {}
        for name, text in properties.items():
            option, parse = self.options[name]
            try:
                found[option] = parse(text)
            except ValueError:
                raise ConfigError(f"the property {name} cannot be read", expected=_EXPECTED[name]) from None
        return found


def _key(text: str) -> Any:
    """A path to a service account's key, or its content, as a reference to the file gives it."""
    return json.loads(text) if text.lstrip().startswith("{") else text


def _flag(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError
    return text.strip().lower() == "true"


_EXPECTED = {
    "gcpKey": "the path to a service account's key, or its JSON",
    "kerberos": "true or false",
    "useHttps": "true or false",
}

GCS = RemoteKind(
    "org.apache.pinot.plugin.filesystem.GcsPinotFS",
    "gs",
    "gcs",
    {"projectId": ("project", str), "gcpKey": ("token", _key), "endpoint": ("endpoint_url", str)},
    version_key="generation",
)
AZURE = RemoteKind(
    "org.apache.pinot.plugin.filesystem.ADLSGen2PinotFS",
    "abfs",
    "azure",
    {
        "accountName": ("account_name", str),
        "accessKey": ("account_key", str),
        "sasToken": ("sas_token", str),
        "connectionString": ("connection_string", str),
        "tenantId": ("tenant_id", str),
        "clientId": ("client_id", str),
        "clientSecret": ("client_secret", str),
    },
    # Else it tries without credentials first.
    {"anon": False},
    version_key="etag",
)
WEBHDFS = RemoteKind(
    "org.apache.pinot.plugin.filesystem.HadoopPinotFS",
    "webhdfs",
    "hdfs",
    {
        "user": ("user", str),
        "password": ("password", str),
        "kerberos": ("kerberos", _flag),
        "useHttps": ("use_https", _flag),
    },
    is_file_system=True,
)
