"""Files below a source folder that are not data, as Spark and Hive decide it.

Spark, Hive and Hadoop's tools write files next to the data: ``_SUCCESS``, ``.part-0.csv.crc``, what tasks
have not committed yet (``_temporary/0/...``), and uploads in progress (``part-0.csv._COPYING_``). A name
below the folder is hidden if it begins with ``.`` or ``_`` (but not ``_column=value``, the folder of a Hive
partition), or ends with ``._COPYING_``; so is everything in a hidden folder.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from controller_client.filestore import scheme_of
from controller_client.filestore.local import path_in
from minion_tasks.file_ingestion.params.patterns import PathMatcher, path_of

__all__ = ["HiddenNames", "listed_forms"]


def listed_forms(folder_uri: str) -> tuple[str, ...]:
    """Return a folder's URI in each form with which the URIs of its files may begin."""
    scheme = scheme_of(folder_uri)
    if scheme != "file":
        return (scheme + folder_uri[len(scheme) :],)
    # A local folder's percent-encoding may be decoded (see LocalStore).
    path = str(Path(path_in(folder_uri)))
    return f"file://{path}", f"file://{unquote(path)}"


class HiddenNames:
    """Decides which files of a source folder are not data.

    Args:
        folder_uri: The source folder, whose own path does not count.
        include: The include pattern. A name that it spells out is not hidden: ``glob:**/_late/*.csv``.
    """

    def __init__(self, folder_uri: str, include: PathMatcher | None) -> None:
        self._folders = tuple(f"{path_of(form).rstrip('/')}/" for form in listed_forms(folder_uri))
        self._include = include

    def hide(self, uri: str) -> bool:
        """Return whether a file is not data because of its name or that of a folder around it."""
        path = path_of(uri)
        folder = next((each for each in self._folders if path.startswith(each)), "")
        return any(self._is_hidden(name) for name in path[len(folder) :].split("/"))

    def _is_hidden(self, name: str) -> bool:
        if name.endswith("._COPYING_"):
            return True
        is_marked = name.startswith(".") or (name.startswith("_") and "=" not in name)
        return is_marked and not (self._include is not None and self._include.spells_out(name))
