"""Requirements for source files, and the result of checking one; also for tasks, so without Arrow and JVM."""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from controller_client.errors import ConfigError

__all__ = [
    "ColumnMismatch",
    "FileFormat",
    "InputRules",
    "MissingLimit",
    "csv_header",
    "derived_columns",
    "near_miss",
    "near_misses",
    "text_encoding",
    "time_zone",
]

# Python codecs that are not encodings of files.
_NO_ENCODINGS = frozenset(["idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"])


class FileFormat(StrEnum):
    """A format of source files; CSV, JSON and Avro files may be gzipped as a whole (``.gz``)."""

    CSV = "CSV"
    JSON = "JSON"
    AVRO = "AVRO"
    PARQUET = "PARQUET"
    ORC = "ORC"

    @classmethod
    def parse(cls, text: str) -> FileFormat:
        """Return the format with a name, ignoring case.

        Raises:
            ConfigError: There is no such format.
        """
        try:
            return cls(text.strip().upper())
        except ValueError:
            near = difflib.get_close_matches(text.strip().upper(), list(cls), n=1)
            raise ConfigError(
                f"unknown file format {text!r}" + (f", did you mean {near[0].lower()!r}?" if near else ""),
                expected=", ".join(each.lower() for each in cls),
            ) from None


@dataclass(frozen=True)
class MissingLimit:
    """How many of the table's columns a file may lack: a number or a percentage."""

    number: int
    is_percent: bool

    @classmethod
    def parse(cls, text: str) -> MissingLimit:
        """Parse ``3`` or ``50%``.

        Raises:
            ValueError: It is neither.
        """
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(%?)\s*", text)
        if match is None or (match[2] and int(match[1]) > 100):
            raise ValueError("expected a number of columns, such as 3, or a percentage, such as 50%")
        return cls(int(match[1]), bool(match[2]))

    def allows(self, missing: int, expected: int) -> bool:
        """Return whether this many of the expected columns may be missing."""
        return missing * 100 <= self.number * expected if self.is_percent else missing <= self.number

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percent else str(self.number)


@dataclass(frozen=True)
class InputRules:
    """Requirements for files.

    Attributes:
        encoding: Encoding of CSV and JSON files, by any name that Python supports.
        max_missing: How many of the table's columns a file may lack. None: half of them, or all but one for
            JSON lines, whose rows may omit keys. A file with none of them is always rejected.
        refuse_unknown: Whether a column that the table does not read is an error.
        time_zone: Time zone of texts without an offset in columns of type TIMESTAMP, e.g. ``Europe/Berlin``.
    """

    encoding: str = "UTF-8"
    max_missing: MissingLimit | None = None
    refuse_unknown: bool = False
    time_zone: str = "UTC"


@dataclass(frozen=True)
class ColumnMismatch:
    """How a file's columns differ from those that its table reads.

    Attributes:
        missing: Columns that the table expects and the file lacks: null in each of its rows.
        extra: Columns of the file that the table does not read. For JSON lines, keys of the first rows.
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


def derived_columns(table_config: Mapping[str, Any], schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the columns that transforms fill, so that their source does not need them."""
    ingestion = table_config.get("ingestionConfig") or {}
    configs = [*(ingestion.get("transformConfigs") or ()), *(ingestion.get("aggregationConfigs") or ())]
    names = {str(config.get("columnName")) for config in configs}
    kinds = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    for spec in (spec for kind in kinds for spec in schema.get(kind) or ()):
        name = str(spec.get("name"))
        if spec.get("transformFunction") or name.endswith(("__KEYS", "__VALUES")):
            names.add(name)
    time_spec = schema.get("timeFieldSpec") or {}
    outgoing, incoming = time_spec.get("outgoingGranularitySpec"), time_spec.get("incomingGranularitySpec")
    if outgoing and outgoing.get("name") != (incoming or {}).get("name"):
        names.add(str(outgoing.get("name")))
    return frozenset(names)


def near_miss(name: str, others: Iterable[str]) -> str | None:
    """Return a name that differs only in case and in leading or trailing white space."""
    return near_misses([name], others).get(name)


def near_misses(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Return what :func:`near_miss` returns for each name that has one; both may be many."""
    by_folded: dict[str, list[str]] = {}
    for other in others:
        alike = by_folded.setdefault(other.strip().casefold(), [])
        if len(alike) < 2 and other not in alike:  # one of two is another name
            alike.append(other)
    misses = {}
    for name in names:
        alike = by_folded.get(name.strip().casefold(), [])
        other_name = next((other for other in alike if other != name), None)
        if other_name is not None:
            misses[name] = other_name
    return misses


def csv_header(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the names in the property ``header`` of Pinot's CSV reader; None if it is not set.

    Spaces and quotes around the names do not belong to them. Arrow and the versions of Pinot's reader differ
    in what they do with other headers.

    Raises:
        ConfigError: A name is empty, or there twice, or has quotes within.
    """
    if "header" not in properties:
        return None
    header, delimiter = properties["header"], properties.get("delimiter") or ","
    parts = [part.strip() for part in header.split(delimiter)]
    names = tuple(part[1:-1].strip() if re.fullmatch('".*"', part) else part for part in parts)
    if not all(names) or len(set(names)) < len(names) or '"' in "".join(names):
        raise ConfigError(
            f"the reader property header is not a list of names: {header!r}",
            expected=f"a name for each column, no name twice, separated by {delimiter!r}",
            remedy="give columns that the table does not read names such as unused1",
        )
    return names


def time_zone(text: str) -> str:
    """Return the name of a time zone of the tz database.

    Raises:
        ValueError: There is no such time zone.
    """
    name = text.strip()
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        # A machine without the database cannot tell; the builder can.
        if known or not re.fullmatch(r"[A-Za-z][\w+/-]*", name, re.ASCII):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"expected a time zone, such as UTC or Europe/Berlin{hint}") from None
    return name


def text_encoding(name: str) -> str:
    """Return Python's name of an encoding.

    Raises:
        ValueError: There is no such encoding of text.
    """
    try:
        codec = codecs.lookup(name.strip())
        encoding = codec.name.replace("_", "-")
    except (LookupError, ValueError):
        codec, encoding = None, ""
    if not getattr(codec, "_is_text_encoding", False) or encoding in _NO_ENCODINGS:
        raise ValueError("expected a text encoding, such as UTF-8, ISO-8859-1, windows-1252 or UTF-16")
    return "utf-8" if encoding == "utf-8-sig" else encoding
