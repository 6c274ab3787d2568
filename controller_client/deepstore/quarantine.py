"""Where swept objects stay for some days before they are deleted for good.

::

    <root>/.pinot-plugins-quarantine/<UTC date>/<table>/<object>

What is below a date has the layout of the store itself, so copying it back into the root restores it. No
table has a folder of this name: a table's name does not begin with a dot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from controller_client.clock import Clock
from controller_client.common.text import visible
from controller_client.deepstore.listing import OpenStore
from controller_client.errors import ConfigError
from controller_client.filestore import FileInfo, FolderMissingError

__all__ = ["DEFAULT_QUARANTINE_DAYS", "QUARANTINE_FOLDER", "Quarantine"]

QUARANTINE_FOLDER = ".pinot-plugins-quarantine"
DEFAULT_QUARANTINE_DAYS = 7


class Quarantine:
    """The quarantine of a deep store.

    Args:
        root: URI of the store, without a trailing slash.
        open_store: Returns the file store for a URI.
        clock: The clock.
        keep_days: Full days that objects stay; 0: nothing is moved here.
    """

    def __init__(self, root: str, open_store: OpenStore, clock: Clock, keep_days: int) -> None:
        if keep_days < 0:
            raise ConfigError(f"the quarantine is to last {keep_days} days", expected="0 or more")
        self._uri = f"{root}/{QUARANTINE_FOLDER}"
        self._open = open_store
        self._clock = clock
        self.keep_days = keep_days

    def put(self, uri: str) -> str | None:
        """Move an object of a table's folder here, and return its new URI; None if it is gone.

        Raises:
            ConfigError: The store, which another package registers, cannot move objects.
            SourceError: The store refuses it. The object is where it was, or here, or both.
        """
        store = self._open(uri)
        if not hasattr(store, "move"):
            raise ConfigError(
                f"the file store {type(store).__name__} has no quarantine: it cannot move objects",
                expected="a store with the method `move`",
                where=visible(uri),
                remedy="install a release of its package that has it, or pass --quarantine-days 0",
            )
        _, table, name = uri.rsplit("/", 2)
        moved_to = f"{self._uri}/{self._today().isoformat()}/{table}/{name}"
        return moved_to if store.move(uri, moved_to) else None

    def expired(self) -> dict[date, list[FileInfo]]:
        """Return the objects that have been here for long enough, by the day on which they came.

        Raises:
            SourceError: The store cannot be listed.
        """
        last = self._today() - timedelta(days=self.keep_days)
        by_day: dict[date, list[FileInfo]] = {}
        for file in self._files():
            day = _day(file.uri.removeprefix(f"{self._uri}/").partition("/")[0])
            if day is not None and day < last:
                by_day.setdefault(day, []).append(file)
        return by_day

    def delete(self, day: date) -> int:
        """Delete for good what came on a day; return how many objects that were.

        Raises:
            SourceError: The store refuses it.
        """
        return self._open(self._uri).delete_tree(f"{self._uri}/{day.isoformat()}")

    def _files(self) -> Iterator[FileInfo]:
        with suppress(FolderMissingError):  # nothing has been moved here yet
            yield from self._open(self._uri).list(self._uri)

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock.now(), UTC).date()


def _day(name: str) -> date | None:
    """Return the day that a folder here is named after; None if it is named otherwise."""
    with suppress(ValueError):
        day = date.fromisoformat(name)
        return day if day.isoformat() == name else None
    return None
