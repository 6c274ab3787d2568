"""Columns whose values are in names of folders, as Hive writes them: ``dt=2024-01-01/city=New%20York/``."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from controller_client.common.text import has_utf_8, visible
from controller_client.errors import DataError

__all__ = ["FolderColumns", "folder_columns"]

FolderColumns = Mapping[str, str | None]
"""Texts by column name, decoded; None is null. Bytes that are not UTF-8 are surrogates, as in Python."""

_NULL = "__HIVE_DEFAULT_PARTITION__"


def folder_columns(path: str) -> FolderColumns:
    """Return the columns that the folders around a file name.

    Args:
        path: Path of the file below its source folder, with ``/``. Names of folders may be percent-encoded,
            as Hive and Spark write special characters.

    Raises:
        DataError: Two folders give a column different values.
    """
    texts: dict[str, str] = {}
    for folder in path.split("/")[:-1]:
        name, is_column, text = folder.partition("=")
        if not (name and is_column):
            continue
        name, text = unquote(name, errors="surrogateescape"), unquote(text, errors="surrogateescape")
        if not has_utf_8(name):
            continue  # no name of a column
        if texts.setdefault(name, text) != text:
            raise DataError(
                f"the folders of {visible(path)} give {visible(name)!r} two values: {visible(texts[name])!r} "
                f"and {visible(text)!r}",
                where=visible(path),
                remedy="move the file, or set hivePartitioning to false",
            )
    return {name: None if text == _NULL else text for name, text in texts.items()}
