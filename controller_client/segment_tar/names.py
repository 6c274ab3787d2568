"""Checks names from the cluster that are to be used as file names."""

from __future__ import annotations

from controller_client.errors import DataError

__all__ = ["file_name_of"]

_MAX_BYTES = 240
"""Out of the 255 that file systems allow: suffixes such as .tar.gz are added."""


def file_name_of(name: str) -> str:
    """Return the name of a segment or table, if it can be used as the name of a file or folder.

    Raises:
        DataError: It would refer to another folder, is empty or too long, or contains control characters.
    """
    if name in ("", ".", "..") or "/" in name or "\\" in name or not name.isprintable():
        raise DataError(
            f"the name {name[:100]!r} cannot be used as a file name", expected="a name without a slash"
        )
    if len(name.encode(errors="surrogatepass")) > _MAX_BYTES:
        raise DataError(
            f"the name {name[:100]!r}... is too long for a file name", expected=f"at most {_MAX_BYTES} bytes"
        )
    return name
