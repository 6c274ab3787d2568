"""Pinot's console, the controller's web page: links to a table, a segment, an instance."""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit

__all__ = ["Console"]


class Console:
    """Makes links to the console of a controller.

    A link contains no credentials: whoever follows it logs in to the console if the console requires it.

    Args:
        url: The controller's base address; None: it is unknown, and there are no links.
    """

    def __init__(self, url: str | None = None) -> None:
        self._base = None if url is None else _without_credentials(url)

    def table(self, table: str) -> str | None:
        """Return the link to a table, by its name with type."""
        return self._link("tenants", "table", table)

    def segment(self, table: str, segment: str) -> str | None:
        """Return the link to a segment of a table, by its name with type."""
        return self._link("tenants", "table", table, segment)

    def instance(self, name: str) -> str | None:
        """Return the link to an instance, e.g. ``Server_host_8098``."""
        return self._link("instance", name)

    def _link(self, *parts: str) -> str | None:
        if self._base is None:
            return None
        # "surrogatepass": a name that is no UTF-8 is a dead link, not an error.
        return "/".join(
            [f"{self._base}/#", *(quote(part, safe="", errors="surrogatepass") for part in parts)]
        )


def _without_credentials(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
