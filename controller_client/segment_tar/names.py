"""Names of the cluster that are to be names of files."""

from __future__ import annotations

from controller_client.errors import DataError

__all__ = ["file_name_of"]

_MAX_BYTES = 240
"""Of the 255 that file systems take: endings such as .tar.gz are added."""


def file_name_of(name: str) -> str:
    """Return the name of a segment or table, if it can be the name of a file or folder.

    Raises:
        DataError: It would lead to another folder, is empty, too long or holds control characters.
    """
    if name in ("", ".", "..") or "/" in name or "\\" in name or not name.isprintable():
        raise DataError(
            f"the name {name[:100]!r} cannot be the name of a file", expected="a name without a slash"
        )
    if len(name.encode(errors="surrogatepass")) > _MAX_BYTES:
        raise DataError(
            f"the name {name[:100]!r}... is too long for a file", expected=f"{_MAX_BYTES} bytes at most"
        )
    return name
