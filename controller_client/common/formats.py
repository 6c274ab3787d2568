"""Format versions of the records that this project writes for other processes, or for a later one.

A record that bears no version is of version 1. Within a version fields may be added, of a znode simple fields
or those of a JSON object in one: who does not know one ignores it, and keeps it when it writes the record
again (:func:`with_unknown`). What a reader has to understand makes a new version, which an older release
refuses instead of guessing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, TypeVar

from controller_client._version import __version__
from controller_client.errors import DataError, FormatVersionError

__all__ = ["Format", "log_skipped", "only_known", "with_unknown"]

_FIELD = "format"
_MOST_LOGGED = 10_000
_DIGITS = 9
"""More of them are no version, but still greater than each that is read."""

T = TypeVar("T")


@dataclass(frozen=True)
class Format:
    """The format of one kind of record.

    Attributes:
        name: What the record is, as the beginning of a sentence: "the plan of a recipe".
        version: The version that this release writes.
        oldest: The oldest version that it reads.
        field: Where a record has its version, among its fields.
    """

    name: str
    version: int = 1
    oldest: int = 1
    field: str = _FIELD

    def stamp(self, fields: Mapping[str, str], *, as_in: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the fields of a record whose values are text, with the version.

        Args:
            fields: All but the version.
            as_in: The record as it is and was checked, where it keeps its version: a process of the release
                before, which is upgraded later than this one, is to read it again.
        """
        version = self.version if as_in is None else as_in.get(self.field, 1)
        return {self.field: str(version), **fields}

    def stamp_json(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a JSON document, with the version as a number."""
        return {self.field: self.version, **document}

    def check(self, fields: Mapping[str, object], where: str) -> int:
        """Return the version of a record that was read.

        Args:
            fields: The record's fields; the version may be text or a number.
            where: The record's place, for the error.

        Raises:
            FormatVersionError: This release does not read that version.
            DataError: There is something else in the version's place.
        """
        found = fields.get(self.field, 1)
        if isinstance(found, str) and found.isascii() and found.isdigit():
            found = int(found[:_DIGITS])
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise DataError(
                f"{self.name} has {str(found)[:40]!r} as its format version",
                expected="a number from 1 on",
                where=where,
            )
        return self.check_number(found, where)

    def check_number(self, found: int, where: str) -> int:
        """As :meth:`check`, for a version that has been read already."""
        if self.oldest <= found <= self.version:
            return found
        reads = (
            f"version {self.version}" if self.oldest == self.version else f"{self.oldest} to {self.version}"
        )
        do = (
            "upgrade this process to the release that wrote it, or a later one"
            if found > self.version
            else "have a release in between read and write it first"
        )
        raise FormatVersionError(
            f"{self.name} in {where} is of format version {found}, but this process (pinot-plugins "
            f"{__version__}) reads {reads}: {do}",
            record=self.name,
            place=where,
            found=found,
        )


def with_unknown(wanted: Mapping[str, T], present: Mapping[str, T], known: Collection[str]) -> dict[str, T]:
    """Return what is to be written, with what is there now and was written by somebody who knows more.

    Args:
        wanted: The fields to write.
        present: The fields of the record as it is.
        known: The fields that this release writes or deletes itself.
    """
    return {**{key: value for key, value in present.items() if key not in known}, **wanted}


def only_known(kind: type, document: Mapping[str, T]) -> dict[str, T]:
    """Return what of a JSON object a dataclass has fields for; those of a later release are left out."""
    return {each.name: document[each.name] for each in fields_of(kind) if each.name in document}


_logged: set[tuple[str, str, int]] = set()
_mutex = threading.Lock()


def log_skipped(logger: logging.Logger, error: FormatVersionError) -> None:
    """Log what a loop skips, since it cannot read its record: each record and version once in a process."""
    key = (error.record, error.place, error.found)
    with _mutex:
        is_new = key not in _logged
        if len(_logged) >= _MOST_LOGGED:
            _logged.clear()
        _logged.add(key)
    logger.log(logging.ERROR if is_new else logging.DEBUG, "%s", error.message)
