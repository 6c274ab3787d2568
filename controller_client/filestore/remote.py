"""Google Cloud Storage, Azure and HDFS through fsspec: maps their properties to fsspec's options.

The author of a URI and its properties is not necessarily the operator of the process. So neither may refer to
anything on this machine, or have its credentials sent to a foreign host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from controller_client.common.extras import missing_module
from controller_client.common.text import visible
from controller_client.errors import ConfigError
from controller_client.filestore.traits import StoreTraits

if TYPE_CHECKING:
    from controller_client.filestore.base import FileStore

__all__ = ["AZURE", "GCS", "WEBHDFS", "RemoteKind"]

_CONNECT_S = 10.0
_READ_S = 120.0

_ACCOUNT = r"[a-z0-9]{3,24}"
_AZURE_URI = re.compile(
    rf"(?i:abfss?)://[a-z0-9$-]+(?:@{_ACCOUNT}\.(?:dfs|blob)\.core\.windows\.net)?(?:/.*)?", re.DOTALL
)
_OF_GOOGLE = re.compile(r"https://(?:[a-z0-9-]+\.)+googleapis\.com(?::443)?/?")


def _nothing(_uri: str, _properties: Mapping[str, str]) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class RemoteKind:
    """A kind of store opened by fsspec.

    Attributes:
        fs_class: The equivalent PinotFS class.
        traits: Traits of its file system.
        extra: The extra of this project with its dependencies.
        options: By property name, fsspec's option and the parser of its text.
        further: Returns further options for a URI and its properties, or raises `ConfigError`.
    """

    fs_class: str
    traits: StoreTraits
    extra: str
    options: Mapping[str, tuple[str, Callable[[str], Any]]]
    further: Callable[[str, Mapping[str, str]], Mapping[str, Any]] = _nothing

    @property
    def properties(self) -> Sequence[str]:
        """Names of the properties."""
        return tuple(self.options)

    def open(self, uri: str, properties: Mapping[str, str]) -> FileStore:
        """Open the store; the properties must have known names.

        Raises:
            SetupError: A module is missing.
            ConfigError: The properties do not go together.
        """
        try:
            from controller_client.filestore.fsspec_store import FsspecStore

            return FsspecStore(uri, self.traits, self.read(uri, properties))
        except ModuleNotFoundError as error:
            name = f"the file system {self.traits.protocol}"
            raise missing_module(error, name, (self.extra,)) from None

    def read(self, uri: str, properties: Mapping[str, str]) -> dict[str, Any]:
        """Return fsspec's options.

        Raises:
            ConfigError: A value is invalid, or the properties do not go together; the error does not show
                values.
            ModuleNotFoundError: A module is missing.
        """
        options = {}
        for name, text in properties.items():
            option, parse = self.options[name]
            try:
                options[option] = parse(text)
            except (ValueError, RecursionError):
                raise ConfigError(
                    f"the property {name} is invalid",
                    expected=_EXPECTED[name],
                    remedy=_REMEDIES.get(name),
                ) from None
        return {**self.further(uri, properties), **options}


def _key(text: str) -> Any:
    """Parse a service account's key; a path is refused, as it could name any file on this machine."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError
    return found


def _account(text: str) -> str:
    """Parse an account's name, which becomes the start of a host name."""
    if not re.fullmatch(_ACCOUNT, text):
        raise ValueError
    return text


def _flag(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError
    return text.strip().lower() == "true"


_EXPECTED = {
    "gcpKey": "the JSON of a service account's key",
    "accountName": "3 to 24 lower-case letters and digits",
    "kerberos": "true or false",
    "useHttps": "true or false",
}
_REMEDIES = {
    "gcpKey": "use ${file:NAME}, with the key's file in the secrets folder of the process that opens it"
}


def _gcs_class() -> Any:
    from controller_client.filestore.gcs import CheckedGcs

    return CheckedGcs


def _of_gcs(_uri: str, properties: Mapping[str, str]) -> Mapping[str, Any]:
    from aiohttp import ClientTimeout

    # Otherwise gcsfs waits forever.
    timeout = ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_READ_S)
    endpoint = properties.get("endpoint")
    is_own = endpoint is None or _OF_GOOGLE.fullmatch(endpoint) is not None
    return {"requests_timeout": timeout, **({} if is_own else {"token": "anon"})}


def _of_azure(uri: str, _properties: Mapping[str, str]) -> Mapping[str, Any]:
    if not _AZURE_URI.fullmatch(uri):
        raise ConfigError(
            f"{visible(uri)} does not contain an Azure account",
            expected="abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/folder/, or abfss://CONTAINER/folder/"
            " and accountName",
        )
    # Otherwise it tries without credentials first.
    return {"anon": False}


def _azure_class() -> Any:
    from controller_client.filestore.azure import CheckedAzure

    return CheckedAzure


def _webhdfs_class() -> Any:
    from controller_client.filestore.webhdfs import CheckedWebHdfs

    return CheckedWebHdfs


GCS = RemoteKind(
    "org.apache.pinot.plugin.filesystem.GcsPinotFS",
    StoreTraits("gs", version_key="generation", is_listed_flat=True, load=_gcs_class),
    "gcs",
    {"projectId": ("project", str), "gcpKey": ("token", _key), "endpoint": ("endpoint_url", str)},
    _of_gcs,
)
AZURE = RemoteKind(
    "org.apache.pinot.plugin.filesystem.ADLSGen2PinotFS",
    StoreTraits("abfs", version_key="etag", load=_azure_class),
    "azure",
    {
        "accountName": ("account_name", _account),
        "accessKey": ("account_key", str),
        "sasToken": ("sas_token", str),
        "connectionString": ("connection_string", str),
        "tenantId": ("tenant_id", str),
        "clientId": ("client_id", str),
        "clientSecret": ("client_secret", str),
    },
    _of_azure,
)
WEBHDFS = RemoteKind(
    "org.apache.pinot.plugin.filesystem.HadoopPinotFS",
    StoreTraits("webhdfs", is_file_system=True, load=_webhdfs_class),
    "hdfs",
    {
        "user": ("user", str),
        "password": ("password", str),
        "kerberos": ("kerberos", _flag),
        "useHttps": ("use_https", _flag),
    },
)
