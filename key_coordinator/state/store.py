"""Stores the record of each key: new ones in memory, the rest in files listed by a manifest.

Batches are collected in memory. Once there are enough records, they are written to a file; the manifest,
which is replaced atomically, records up to which input offsets the files go. If the process is killed, the
records in memory are reread from the input. Files are merged in the background, smaller ones first, to keep
their number small.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from controller_client.common.formats import Format
from controller_client.errors import DataError
from controller_client.upsert.generation import is_folder_of
from key_coordinator.entries import Entries, by_hash, concatenate
from key_coordinator.rules import live
from key_coordinator.state.run import Run, merge_runs, write_run

__all__ = ["STATE_FORMAT", "KeyStore", "StoredUpTo", "delete_leftovers"]

_MANIFEST = "manifest.json"
STATE_FORMAT = Format("the key coordinator's state")
"""Format of the manifest and of the files that it lists."""
_IN_MEMORY = 400_000
"""Maximum number of records in memory: about 40 MB, including the memory to merge them."""
_ROWS_BETWEEN = 2_000_000
"""The state is written after this many input rows, because a restart rereads the rows since."""
_RATIO = 4
"""Two files are merged once the older has at most this many times the records of the newer."""


@dataclass(frozen=True)
class StoredUpTo:
    """What a state covers.

    Attributes:
        generation: The coordinator's generation whose state it is.
        version: Its newest version.
        ends: By input partition, the offset after the last one covered.
        floors: By partition, see :func:`..rules.live`.
        keys: The number of keys, including those that the next merge of all files will drop.
        refused: Input rows without a key so far.
        record_offset: Offset of the version's record in the updates topic; -1 before the first.
    """

    generation: int
    version: int
    ends: Mapping[int, int] = field(default_factory=dict)
    floors: tuple[int, ...] = ()
    keys: int = 0
    refused: int = 0
    record_offset: int = -1


_FIELDS = tuple(each.name for each in fields(StoredUpTo))


class KeyStore:
    """A state in a folder of its own; not thread-safe.

    Args:
        folder: Created if missing; other files in it are deleted.
        in_memory: Maximum number of records in memory.

    Raises:
        FormatVersionError: A later release wrote the state; it is left unchanged.
        OSError: The folder cannot be created or read.
    """

    def __init__(self, folder: Path, *, in_memory: int = _IN_MEMORY) -> None:
        self._folder = folder
        self._in_memory = in_memory
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files: list[Run] = []  # the newest first
        self._recent: list[Entries] = []  # the newest last
        self._rows = 0
        self._next = 0
        self._written: StoredUpTo | None = None
        self._now: StoredUpTo | None = None
        self._merges = ThreadPoolExecutor(1, "upsert-merge")
        self._merge: tuple[Future[int], int, Path] | None = None
        self._read()

    @property
    def up_to(self) -> StoredUpTo | None:
        """What the state covers; None if it is empty."""
        return self._now

    def begin(self, up_to: StoredUpTo) -> None:
        """Delete everything and start a new state."""
        self._wait_merge()
        self._files, self._recent, self._rows = [], [], 0
        self._now = self._written = None
        self._sweep()
        self._now = up_to
        self._write_manifest(up_to)

    def known(self, records: Entries, floors: Sequence[int] = ()) -> Entries:
        """Return the stored records of a batch's keys, in no particular order.

        Args:
            records: The batch, in any order.
            floors: See :func:`..rules.live`.
        """
        order = by_hash(records.high, records.low)
        high, low = records.high[order], records.low[order]
        first = np.ones(len(order), bool)
        first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        keys = records.take(order[first])
        matches = [Entries.empty()]
        for part in reversed(self._recent):
            positions = part.positions(keys)
            matches.append(part.take(positions[positions >= 0]))
            keys = keys.take(positions < 0)
        for file in self._files:
            if not len(keys):
                break
            there, entries = file.find(keys.high, keys.low)
            matches.append(entries)
            keys = keys.take(~there)
        known = concatenate(matches)
        return known.take(live(known, floors))

    def put(self, entries: Entries, up_to: StoredUpTo, rows: int) -> None:
        """Store the result of a batch.

        Args:
            entries: The current record of each of its keys, sorted by hash.
            up_to: What the state covers now.
            rows: The number of input rows read for it.

        Raises:
            OSError: The disk is full, or broken; the state in memory is intact.
        """
        if len(entries):
            while self._recent and len(self._recent[-1]) <= 2 * len(entries):
                entries = self._recent.pop().merged(entries)
            self._recent.append(entries)
        self._now = up_to
        self._rows += rows
        self._take_merged()
        if sum(map(len, self._recent)) >= self._in_memory or self._rows >= _ROWS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Write the whole state to disk; raises what :meth:`put` raises."""
        if self._now is None or self._now == self._written:
            return
        if self._recent:
            entries = self._recent[-1]
            for older in reversed(self._recent[:-1]):
                entries = older.merged(entries)
            path = self._new_path()
            write_run(path, iter([entries]), len(entries))
            self._files.insert(0, Run(path))
            self._recent = []
        self._rows = 0
        self._write_manifest(self._now)
        self._start_merge()

    def close(self) -> None:
        """Write the records in memory and close the state; raises what :meth:`put` raises."""
        try:
            self.write()
        finally:
            self._merges.shutdown(wait=True)

    def delete(self) -> None:
        """Delete the folder, after closing."""
        self._files = []
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start_merge(self) -> None:
        """Merge, in the background, the first two neighbouring files for which it is worthwhile."""
        if self._merge is not None:
            return
        for number, (newer, older) in enumerate(zip(self._files, self._files[1:], strict=False)):
            if len(older) <= _RATIO * len(newer):
                is_oldest = number + 2 == len(self._files)
                floors = np.array(self._now.floors if self._now else (), np.int64) if is_oldest else None
                path = self._new_path()
                future = self._merges.submit(merge_runs, path, newer, older, floors)
                self._merge = (future, len(self._files) - number, path)
                return

    def _take_merged(self, *, wait: bool = False) -> None:
        """Replace two merged files with the result."""
        if self._merge is None or not (wait or self._merge[0].done()):
            return
        future, from_end, path = self._merge
        self._merge = None
        dropped = future.result()
        # New files may have been added in front since.
        at = len(self._files) - from_end
        old = self._files[at : at + 2]
        self._files[at : at + 2] = [Run(path)]
        if self._now is not None and dropped:
            self._now = replace(self._now, keys=max(0, self._now.keys - dropped))
        if self._written is not None:
            self._write_manifest(self._written)
        for file in old:
            file.path.unlink()
        self._start_merge()

    def _wait_merge(self) -> None:
        if self._merge is not None:
            with suppress(OSError):
                self._merge[0].result()
            self._merge = None

    def _new_path(self) -> Path:
        self._next += 1
        return self._folder / f"{self._next:08d}.run"

    def _read(self) -> None:
        try:
            path = self._folder / _MANIFEST
            document = json.loads(path.read_bytes())
            STATE_FORMAT.check(document, str(path))
            document = {each: document[each] for each in (*_FIELDS, "files") if each in document}
            files = [self._folder / Path(name).name for name in document.pop("files")]
            document["ends"] = {int(each): int(end) for each, end in document["ends"].items()}
            up_to = StoredUpTo(**{**document, "floors": tuple(document["floors"])})
            self._files = [Run(path) for path in files]
            self._next = max((int(path.stem) for path in files), default=0)
        except (
            *(FileNotFoundError, ValueError, KeyError, TypeError, AttributeError),
            *(ArithmeticError, RecursionError, DataError),
        ):
            # Missing or damaged: everything can be reread from the input.
            self._files = []
        else:
            self._written = self._now = up_to
        self._sweep()

    def _sweep(self) -> None:
        """Delete files that the manifest does not list."""
        kept = {file.path.name for file in self._files} | ({_MANIFEST} if self._written else set())
        for path in self._folder.iterdir():
            if path.name not in kept:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def _write_manifest(self, up_to: StoredUpTo) -> None:
        files = [file.path.name for file in self._files]
        document = STATE_FORMAT.stamp_json({**asdict(up_to), "files": files})
        path = self._folder / _MANIFEST
        new = path.with_suffix(".new")
        with new.open("w") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._written = up_to


def delete_leftovers(folder: Path, current: str, cluster: str) -> None:
    """Delete the states of a cluster's other generations in a table's folder, e.g. of a killed rebuild.

    Args:
        folder: The folder, which another cluster may use for a table of the same name.
        current: Name of the current generation's folder.
        cluster: The cluster's id.
    """
    for path in folder.iterdir():
        is_other = path.name != current and is_folder_of(path.name, cluster)
        if is_other and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
