"""Where Pinot keeps a segment's tar, and what follows from its download url."""

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
        root: URI of the store (``controller.data.dir``), without a slash at its end.
        controller_url: Address under which servers fetch from a store that is a folder of the controller.
    """

    root: str
    controller_url: str

    @classmethod
    def of(cls, client: RestClient, root: str | None = None) -> StoreLayout:
        """Ask the controller.

        Args:
            client: Client of the cluster.
            root: Instead of what the controller reports.

        Raises:
            ConfigError: The controller does not report it, and no root is given.
        """
        found = root or client.cluster.deep_store_uri()
        if not found:
            raise ConfigError(
                "the controller does not report its deep store",
                expected="controller.data.dir in its configuration",
                where=client.config.url,
                remedy="pass --store with the store's URI",
            )
        return cls(_plain(found).rstrip("/"), client.config.url)

    @property
    def is_folder(self) -> bool:
        """Whether the store is a folder of the controller's machine."""
        return scheme_of(self.root) == "file"

    def object_uri(self, table: TableName, segment: str) -> str:
        """URI, not percent-encoded, of the place that Pinot keeps a segment's tar at, and deletes it from.

        Args:
            table: Name with type.
            segment: Name.

        Raises:
            DataError: A name leads to another folder.
        """
        # Pinot encodes the name as a form does, and its file systems undo percents alone.
        return f"{self.root}/{_one_part(table.raw)}/{unquote(quote_plus(_one_part(segment)))}"

    def url(self, table: TableName, segment: str) -> str:
        """Download url of a tar that lies at :meth:`object_uri`."""
        raw = table.raw
        if self.is_folder:
            return f"{self.controller_url}/segments/{raw}/{quote_plus(segment)}"
        return f"{self.root}/{raw}/{quote_plus(segment)}"

    def object_of(self, url: str) -> str | None:
        """URI, not percent-encoded, of what a download url leads to; None where it names no place there."""
        if not is_http(url):
            return object_of(url)
        place = unquote(url.partition("?")[0]).split("/segments/", 1)
        if len(place) != 2 or not self.is_folder or _climbs(place[1]):
            return None
        return f"{self.root}/{place[1]}"


def object_of(url: str) -> str | None:
    """URI, not percent-encoded, of what a store's download url leads to; None: it leads to no place there."""
    try:
        uri = _plain(unquote(url))
    except ValueError:
        return None
    return None if _climbs(uri) else uri


def is_http(url: str) -> bool:
    """Whether a url is one of HTTP, readable or not."""
    return url.lower().startswith(("http:", "https:"))


def shown(url: str) -> str:
    """Return a download url without what may be secret in it: credentials, and the query of a signed one."""
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
