"""Where Pinot keeps a segment's tar, and what its download URL refers to."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote_plus, unquote, urlsplit

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, DataError
from controller_client.filestore import scheme_of
from controller_client.rest.client import RestClient

__all__ = ["StoreLayout", "is_http", "object_of", "shown"]


@dataclass(frozen=True)
class StoreLayout:
    """The controller's deep store.

    Attributes:
        root: URI of the store (``controller.data.dir``), without a trailing slash.
        controller_url: Address from which servers download if the store is a folder on the controller.
    """

    root: str
    controller_url: str

    @classmethod
    def of(cls, client: RestClient, root: str | None = None) -> StoreLayout:
        """Read the layout from the controller.

        Args:
            client: Client of the cluster.
            root: The store's URI, instead of the one that the controller reports.

        Raises:
            ConfigError: The controller does not report it, and no root is given.
        """
        uri = root or client.cluster.deep_store_uri()
        if not uri:
            raise ConfigError(
                "the controller does not report its deep store",
                expected="controller.data.dir in its configuration",
                where=client.config.url,
                remedy="pass --store with the store's URI",
            )
        return cls(_plain(uri).rstrip("/"), client.config.url)

    @property
    def is_folder(self) -> bool:
        """Whether the store is a folder on the controller's machine."""
        return scheme_of(self.root) == "file"

    def object_uri(self, table: TableName, segment: str) -> str:
        """Return the URI, not percent-encoded, where Pinot keeps a segment's tar and deletes it.

        Args:
            table: Name with type.
            segment: Name.

        Raises:
            DataError: A name leads to another folder.
        """
        # Pinot encodes the name like form data, but its file systems decode only percent escapes.
        return f"{self.root}/{_one_part(table.raw)}/{unquote(quote_plus(_one_part(segment)))}"

    def url(self, table: TableName, segment: str) -> str:
        """Return the download URL of the tar at :meth:`object_uri`."""
        raw = table.raw
        if self.is_folder:
            return f"{self.controller_url}/segments/{raw}/{quote_plus(segment)}"
        return f"{self.root}/{raw}/{quote_plus(segment)}"

    def object_of(self, url: str) -> str | None:
        """Return the URI, not percent-encoded, of a download URL's object; None if it is not in the store."""
        if not is_http(url):
            return object_of(url)
        parts = unquote(url.partition("?")[0]).split("/segments/", 1)
        if len(parts) != 2 or not self.is_folder or _climbs(parts[1]):
            return None
        return f"{self.root}/{parts[1]}"


def object_of(url: str) -> str | None:
    """Return the URI, not percent-encoded, of a store URL's object; None if it is not in the store."""
    try:
        uri = _plain(unquote(url))
    except ValueError:
        return None
    return None if _climbs(uri) else uri


def is_http(url: str) -> bool:
    """Whether a URL is an HTTP URL, valid or not."""
    return url.lower().startswith(("http:", "https:"))


def shown(url: str) -> str:
    """Return a download URL without possible secrets: credentials, and the query of a signed URL."""
    if not is_http(url):
        return url
    scheme, _, rest = url.partition("//")
    bare, mark, _ = rest.partition("?")
    host, slash, path = bare.partition("/")
    return f"{scheme}//{host.rpartition('@')[2]}{slash}{path}{'?...' if mark else ''}"


def _one_part(name: str) -> str:
    if name in ("", ".", "..") or "/" in name:
        raise DataError(
            f"the name {name[:100]!r} leads to another folder of the store", expected="a name without a slash"
        )
    return name


def _climbs(uri: str) -> bool:
    return ".." in uri.split("/")


def _plain(uri: str) -> str:
    """Write ``file:/path`` and a bare path as ``file:///path``."""
    if scheme_of(uri) != "file":
        return uri
    return "file://" + (urlsplit(uri).path if uri.lower().startswith("file:") else uri)
