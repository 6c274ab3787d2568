"""The interface of all sources of file ingestion.

A version of a lakehouse table is a set of *units*: a data file, the deletes that apply to it, and how its
columns map to those of the table. Runs treat a unit as they treat a file: what is not in the Pinot table yet
is read, what is no longer in the version is removed. No change log is followed, so compaction, a rollback by
the table's owner, and a recreated table are differences like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from controller_client.common.parsing import whole_number
from controller_client.filestore import FileInfo
from jvm_bridge.input_rules import derived_columns

__all__ = ["Columns", "PinKind", "SourceListing", "SourceVersion", "TaskSource", "VersionPin", "columns_read"]

Columns = frozenset[str] | None
"""The names of the columns that are read; None: all."""


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version of a lakehouse table.

    Attributes:
        id: An Iceberg snapshot's id, or a Delta version's number.
        committed_ms: When it was committed, epoch milliseconds.
    """

    id: str
    committed_ms: int


@dataclass(frozen=True)
class SourceListing:
    """What a source has at a moment.

    Attributes:
        files: Its files or units.
        version: The version to which they belong; None for a folder.
        rows: How many rows it has, as far as its metadata says; deleted ones may count.
    """

    files: Iterable[FileInfo]
    version: SourceVersion | None = None
    rows: int | None = None


class PinKind(StrEnum):
    """What names the version that is read."""

    BRANCH = "branch"
    TAG = "tag"
    ID = "id"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class VersionPin:
    """The version that is read instead of the current one.

    Attributes:
        kind: What names it.
        name: The branch, tag, id, or time in ISO 8601 with an offset.
    """

    kind: PinKind
    name: str

    @classmethod
    def parse(cls, text: str) -> VersionPin:
        """Parse ``branch:NAME``, ``tag:NAME``, ``id:NUMBER`` or ``time:2026-11-29T08:00:00Z``.

        Raises:
            ValueError: It is something else.
        """
        word, colon, name = text.strip().partition(":")
        if not colon or not name or word not in list(PinKind):
            raise ValueError("expected branch:NAME, tag:NAME, id:NUMBER or time:2026-11-29T08:00:00Z")
        pin = cls(PinKind(word), name)
        if pin.kind is PinKind.ID and whole_number(name) is None:
            raise ValueError("expected id:NUMBER, with the id of a snapshot or the number of a version")
        if pin.kind is PinKind.TIME and pin.time.tzinfo is None:
            raise ValueError("expected a time with an offset from UTC, such as time:2026-11-29T08:00:00Z")
        return pin

    @property
    def time(self) -> datetime:
        """The time that it names.

        Raises:
            ValueError: It is not a time.
        """
        return datetime.fromisoformat(self.name)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class TaskSource(Protocol):
    """What a task reads; used by one thread."""

    def list(self, columns: Columns, version: SourceVersion | None = None) -> SourceListing:
        """List what the source has.

        Args:
            columns: The columns that the table reads. A unit is another one if they map to other fields.
            version: List this version of a lakehouse table; None: what the source has now.

        Raises:
            SourceError: The source cannot be listed, or has what cannot be read without an error.
            FolderMissingError: There is no such folder.
        """
        ...

    def local_copy(
        self, file: FileInfo, version: SourceVersion | None, columns: Columns, work_dir: Path
    ) -> AbstractContextManager[Path]:
        """Provide a file or unit as a local file for reading; a unit is a Parquet file.

        What is read is what was listed: a file is checked again on leaving the context without an error, and
        a unit when it is copied.

        Args:
            file: As listed.
            version: The version to which it belonged when it was listed.
            columns: As for :meth:`list`.
            work_dir: Folder for the copy.

        Raises:
            SourceChangedError: It is no longer what was listed.
        """
        ...


def columns_read(table_config: Mapping[str, Any], schema: Mapping[str, Any]) -> Columns:
    """Return the columns of the source that a table reads; None if its config derives columns from others.

    Args:
        table_config: The table config as a document.
        schema: The schema as a document.
    """
    ingestion = table_config.get("ingestionConfig") or {}
    derives = any(ingestion.get(key) for key in ("filterConfig", "complexTypeConfig", "enrichmentConfigs"))
    if derives or schema.get("timeFieldSpec") or derived_columns(table_config, schema):
        return None
    lists = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    return frozenset(spec["name"] for name in lists for spec in schema.get(name) or ())
