"""Format versions of the records that this project writes for other processes, or for later ones.

A record without a version has version 1. Within a version, fields may be added (in a znode, simple fields or
fields of a JSON object in one): readers ignore unknown fields and keep them when rewriting the record
(:func:`with_unknown`). A change that readers must understand gets a new version, which older releases refuse
instead of guessing.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, TypeVar

from controller_client._version import __version__
from controller_client.common.parsing import whole_number
from controller_client.errors import DataError, FormatVersionError

__all__ = ["Format", "log_skipped", "only_known", "with_unknown"]

_FIELD = "format"
_MAX_LOGGED = 10_000
_ENDLESS = re.compile("[1-9][0-9]{18,}")
_ENDLESS_VERSION = 10**18
"""For numbers that are too long for a version, but still greater than any that can be read."""

T = TypeVar("T")


@dataclass(frozen=True)
class Format:
    """The format of a kind of record.

    Attributes:
        name: What the record is, as the start of a sentence: "the plan of a recipe".
        version: The version that this release writes.
        oldest: The oldest version that it can read.
        field: Name of the field with the version.
    """

    name: str
    version: int = 1
    oldest: int = 1
    field: str = _FIELD

    def stamp(self, fields: Mapping[str, str], *, as_in: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the fields of a record with string values, including the version.

        Args:
            fields: All fields except the version.
            as_in: The current record, already checked, if its version must be kept: a process of the previous
                release that has not been upgraded yet has to read it.
        """
        version = self.version if as_in is None else as_in.get(self.field, 1)
        return {self.field: str(version), **fields}

    def stamp_json(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a JSON document including the version as a number."""
        return {self.field: self.version, **document}

    def check(self, fields: Mapping[str, object], where: str) -> int:
        """Return the version of a record, if this release can read it.

        Args:
            fields: The record's fields; the version may be a string or a number.
            where: Where the record is, for the error.

        Raises:
            FormatVersionError: This release cannot read the version.
            DataError: The version is not a number.
        """
        if not isinstance(fields, Mapping):
            raise self._damaged(where)
        raw_version = fields.get(self.field, 1)
        version = raw_version
        if isinstance(raw_version, str):
            version = _ENDLESS_VERSION if _ENDLESS.fullmatch(raw_version) else whole_number(raw_version)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise DataError(
                f"{self.name} has the format version {str(raw_version)[:40]!r}",
                expected="a number, at least 1",
                where=where,
            )
        return self.check_number(version, where)

    @contextmanager
    def reading(self, fields: Mapping[str, object], where: str) -> Iterator[None]:
        """Check the version of a record, which the block then reads.

        Args:
            fields: The record's fields.
            where: Where the record is, for the error.

        Raises:
            FormatVersionError: This release cannot read the version.
            DataError: The version is not a number; or the block found no field where one must be, or one of
                another form.
        """
        self.check(fields, where)
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise self._damaged(where) from error

    def _damaged(self, where: str) -> DataError:
        return DataError(
            f"{self.name} lacks a field, or has one of another form",
            expected="the record as this project writes it",
            where=where,
            remedy="find out who wrote the record, and restore it",
        )

    def check_number(self, version: int, where: str) -> int:
        """Like :meth:`check`, for a version that has already been read."""
        if self.oldest <= version <= self.version:
            return version
        reads = (
            f"version {self.version}" if self.oldest == self.version else f"{self.oldest} to {self.version}"
        )
        do = (
            "upgrade this process to the release that wrote it, or a later one"
            if version > self.version
            else "let a release in between read and rewrite it first"
        )
        raise FormatVersionError(
            f"{self.name} in {where} is of format version {version}, but this process (pinot-plugins "
            f"{__version__}) reads {reads}: {do}",
            record=self.name,
            place=where,
            found=version,
        )


def with_unknown(
    fields: Mapping[str, T], present: Mapping[str, T], own_keys: Collection[str]
) -> dict[str, T]:
    """Return the fields to write, plus current fields written by a release that knows more.

    Args:
        fields: The fields to write.
        present: The record's current fields.
        own_keys: The fields that this release writes or deletes itself.
    """
    return {**{key: value for key, value in present.items() if key not in own_keys}, **fields}


def only_known(kind: type, document: Mapping[str, T]) -> dict[str, T]:
    """Return the entries of a JSON object that a dataclass has fields for; later releases may add others."""
    return {each.name: document[each.name] for each in fields_of(kind) if each.name in document}


_logged: set[tuple[str, str, int]] = set()
_mutex = threading.Lock()


def log_skipped(logger: logging.Logger, error: FormatVersionError) -> None:
    """Log a record that a loop skips because it cannot read it: once per record, version and process."""
    key = (error.record, error.place, error.found)
    with _mutex:
        is_new = key not in _logged
        if len(_logged) >= _MAX_LOGGED:
            _logged.clear()
        _logged.add(key)
    logger.log(logging.ERROR if is_new else logging.DEBUG, "%s", error.message)
