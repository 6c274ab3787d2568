"""What the sources of lakehouse tables share: a unit's identity, listings that are kept, and local copies."""

from __future__ import annotations

import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow.parquet as pq
from pyarrow import RecordBatch
from pyarrow import Schema as ArrowSchema

from controller_client.common.new_file import new_file
from controller_client.common.redaction import Redactor
from controller_client.common.text import visible
from controller_client.errors import PinotPluginError, SourceError
from controller_client.filestore import FileInfo, SourceChangedError
from minion_tasks.sources.base import Columns, SourceListing, SourceVersion

__all__ = ["KeptListings", "LakehouseSource", "Units", "changed", "check_size", "digest", "write_parquet"]

Plan = TypeVar("Plan")

_KEPT_UNITS = 200_000
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Units(Generic[Plan]):
    """The units of a version.

    Attributes:
        version: The version.
        files: The units as files, by URI and sorted by it: the etag is the unit's identity.
        plans: Maps each URI to what its reader needs.
        rows: How many rows they have, deleted ones included.
    """

    version: SourceVersion
    files: Mapping[str, FileInfo]
    plans: Mapping[str, Plan]
    rows: int

    def plan(self, file: FileInfo) -> Plan:
        """Return what the reader of a listed unit needs.

        Raises:
            SourceChangedError: The version has no such unit, or reads it differently.
        """
        if self.files.get(file.uri) != file:
            raise changed(
                file, "is read differently since it was listed: the columns of a table have changed"
            )
        return self.plans[file.uri]


class KeptListings(Generic[Plan]):
    """The last listings: neither a poll without a commit nor each subtask reads manifests; thread-safe.

    A listing of a version never changes. Keys name the table's own identity, not only where it is.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Units[Plan]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Units[Plan]]) -> Units[Plan]:
        """Return the listing of a key, made now if it is not kept."""
        with self._lock:
            units = self._kept.pop(key, None)
        if units is None:
            units = make()
        with self._lock:
            self._kept[key] = units
            while len(self._kept) > 1 and sum(len(kept.files) for kept in self._kept.values()) > _KEPT_UNITS:
                self._kept.popitem(last=False)
        return units


def digest(*parts: object) -> str:
    """Return a short text that differs if any of the parts does; they are values of JSON."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


def changed(file: FileInfo, why: str) -> SourceChangedError:
    """Return the error for a unit that can no longer be read as it was listed."""
    return SourceChangedError(
        f"{file.shown} {why}", remedy="run the task again; it will read the current version"
    )


def check_size(file: FileInfo, path: Path, recorded_in: str) -> None:
    """Refuse a copy of a data file whose size is not the recorded one.

    Args:
        file: The unit, as listed.
        path: The copy.
        recorded_in: What has the size, for the error.

    Raises:
        SourceChangedError: The size differs.
    """
    size_bytes = path.stat().st_size
    if size_bytes != file.size_bytes:
        raise changed(file, f"has {size_bytes:,} bytes, and {file.size_bytes:,} by {recorded_in}")


def write_parquet(path: Path, schema: ArrowSchema, batches: Iterable[RecordBatch]) -> None:
    """Write a unit's rows for the segment builder, which reads the file once, in place of its data file."""
    options: dict[str, Any] = {"compression": "none", "write_statistics": False}
    with new_file(path) as new, pq.ParquetWriter(new, schema, **options) as writer:
        for batch in batches:
            writer.write_batch(batch)


class LakehouseSource(ABC, Generic[Plan]):
    """A lakehouse table as a source; used by one thread.

    Args:
        table: The table, for errors, e.g. ``Delta table file:///lake/orders``.
        redact: Masks the secrets with which it is read.
    """

    def __init__(self, table: str, redact: Redactor) -> None:
        self._name = table
        self._redact = redact

    @abstractmethod
    def _units(self, columns: Columns, version: SourceVersion | None) -> Units[Plan] | None:
        """Return the units of a version, or of the current one; None if the table has none yet."""

    @abstractmethod
    def _copy(self, file: FileInfo, version: SourceVersion, columns: Columns, path: Path) -> None:
        """Write a unit of a version as a Parquet file."""

    @abstractmethod
    def _known(self, error: Exception) -> SourceError | None:
        """Return the error for what is known to happen; None for anything else."""

    def list(self, columns: Columns, version: SourceVersion | None = None) -> SourceListing:
        """List the units of a version; see :class:`TaskSource`."""
        with self._reporting("listed"):
            units = self._units(columns, version)
        if units is None:
            return SourceListing(())
        return SourceListing(units.files.values(), units.version, units.rows)

    @contextmanager
    def local_copy(
        self, file: FileInfo, version: SourceVersion | None, columns: Columns, work_dir: Path
    ) -> Iterator[Path]:
        """Provide a unit as a Parquet file; see :class:`TaskSource`."""
        # The ending would be taken as compression.
        path = work_dir / file.copy_name.removesuffix(".gz")
        try:
            with self._reporting("read"):
                if version is None:
                    raise changed(file, "belongs to no version of the table")
                self._copy(file, version, columns, path)
            yield path
        finally:
            path.unlink(missing_ok=True)

    @contextmanager
    def _reporting(self, done: str) -> Iterator[None]:
        """Turn what a library raises, of any class and with any text, into an error without secrets."""
        try:
            yield
        except PinotPluginError:
            raise
        except Exception as error:  # noqa: BLE001  # what a peer or a file makes a library raise
            better = self._known(error)
            if better is not None:
                raise better from None
            reason = self._redact(str(error)).strip().partition("\n")[0][:_LONGEST_REASON]
            raise SourceError(
                f"the {self._name} could not be {done}: {type(error).__name__}: {visible(reason)}",
                remedy="check that the catalog and the table's files can be reached, and their credentials",
            ) from None
