"""Finds the part of a server's copy that is the segment as it was committed.

Servers change a segment's files legitimately: loading it appends the indexes of the table's config; a reload
adds default columns, star-trees and text indexes, or removes what an earlier one added. This module works out
which of that to leave out, and combines the checksum of the rest from the checksums of its pieces.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from controller_client.segment_tar.adler import Adler
from controller_client.segment_tar.content import CopyContent
from controller_client.segment_tar.layout import (
    COLUMNS,
    INDEX_FILES,
    INDEX_MAP,
    LOCAL_FILES,
    MAPPING_FILES,
    STAR_TREE,
    STAR_TREE_MAP,
    IndexEntry,
    is_known,
    is_of,
    java_order,
    order_of_0_11,
)

__all__ = ["Committed", "all_but_local", "find_committed"]

_MAX_KINDS = 8
"""Most kinds of indexes in a columns.psf; Pinot has no more."""


@dataclass(frozen=True)
class Committed:
    """A part of a copy.

    Attributes:
        files: Paths of the files that belong to it.
        entries: Entries of columns.psf that belong to it, in order; None: all, unchanged.
        properties: Its metadata.properties; None: unchanged.
    """

    files: frozenset[str]
    entries: tuple[IndexEntry, ...] | None = None
    properties: bytes | None = None

    def left_out(self, content: CopyContent) -> list[str]:
        """List what a copy has in addition to this part."""
        additions = sorted(content.files.keys() - self.files)
        if self.properties is not None:
            additions += [f"column {name}" for name in sorted(content.properties.generated)]
        if self.entries is not None and content.entries is not None:
            kept = {entry.name for entry in self.entries}
            additions += [entry.name for entry in content.entries if entry.name not in kept]
        return additions

    def is_all_of(self, content: CopyContent) -> bool:
        """Whether a copy consists of exactly this, in the same order."""
        return self.entries in (None, content.entries) and not self.left_out(content)


def all_but_local(content: CopyContent) -> Committed:
    """Return a whole copy without the files that a server keeps in it for its own use.

    Empty files that are not required are left out too: the checksum does not cover them.
    """
    kept = (
        path
        for path, total in content.files.items()
        if not is_of(path, LOCAL_FILES)
        and (total.size_bytes or (is_known(path) and not is_of(path, MAPPING_FILES)))
    )
    return Committed(frozenset(kept))


def find_committed(content: CopyContent, sums: Mapping[str, Adler], crc: int) -> Committed | None:
    """Return a part of a copy that has the given crc and holds all the rows, so may have been committed.

    Args:
        content: The copy.
        sums: Checksums of the entries of its columns.psf, by name.
        crc: The crc of the committed segment.
    """
    base = all_but_local(content).files
    properties = content.properties
    mappings = {path for path in base if is_of(path, MAPPING_FILES)}
    indexes = {path for path in base if is_of(path, INDEX_FILES)}
    # A mapping is useless without its index.
    choices = dict.fromkeys(frozenset(dropped) for dropped in (set(), mappings, mappings | indexes))
    columns = [_Columns(None)] if content.entries is None else list(_columns(content, sums))
    for with_star_tree in (True, False) if properties.has_star_tree else (True,):
        raw = properties.committed(with_star_tree=with_star_tree)
        trees = () if with_star_tree else (STAR_TREE, STAR_TREE_MAP)
        for dropped in choices:
            files = base.difference(trees, dropped)
            before, between, after = _around(content, files, raw)
            for each in columns:
                if (before + each.columns + between + each.index_map + after).value == crc:
                    return Committed(files, each.entries, raw)
    return None


@dataclass(frozen=True)
class _Columns:
    """A choice of the entries of columns.psf.

    Attributes:
        order: The entries; None: the copy has no columns.psf.
        count: How many of them are chosen, counted from the first.
        columns: Checksum of the resulting columns.psf.
        index_map: Checksum of the resulting index_map.
    """

    order: Sequence[IndexEntry] | None
    count: int = 0
    columns: Adler = field(default_factory=Adler)
    index_map: Adler = field(default_factory=Adler)

    @property
    def entries(self) -> tuple[IndexEntry, ...] | None:
        return None if self.order is None else tuple(self.order[: self.count])


def _columns(content: CopyContent, sums: Mapping[str, Adler]) -> Iterator[_Columns]:
    columns = content.properties.columns()
    stored = [entry for entry in content.entries or () if entry.column not in content.properties.generated]
    yield from _choices(stored, columns, sums)
    # When a reload removes the columns that an earlier one added, Pinot 1.3 leaves their null vectors behind.
    present = frozenset(columns)
    of_present = [entry for entry in stored if entry.column in present]
    if len(of_present) < len(stored):
        yield from _choices(of_present, columns, sums)


def _choices(
    stored: Sequence[IndexEntry], columns: Sequence[str], sums: Mapping[str, Adler]
) -> Iterator[_Columns]:
    # Additions are at the end, unless a reload removed something and sorted the rest.
    yield from _prefixes(stored, sums)
    old = order_of_0_11(stored, columns)
    kinds = sorted({entry.kind for entry in stored if not entry.holds_rows})
    if len(kinds) > _MAX_KINDS:
        return
    for number in range(len(kinds) + 1):
        for kept in itertools.combinations(kinds, number):
            for order in (stored, old):
                chosen = [entry for entry in order if entry.holds_rows or entry.kind in kept]
                *_, whole = _prefixes(chosen, sums)
                yield whole


def _prefixes(order: Sequence[IndexEntry], sums: Mapping[str, Adler]) -> Iterator[_Columns]:
    """Yield the prefixes of an order that have every entry that holds rows; the whole order comes last."""
    least = max((count for count, each in enumerate(order, start=1) if each.holds_rows), default=0)
    columns, index_map = Adler(), Adler()
    for count in range(len(order) + 1):
        if count >= least:
            yield _Columns(order, count, columns, Adler() + index_map)
        if count < len(order):
            index_map.update(order[count].lines(columns.size_bytes))
            columns += sums[order[count].name]


def _around(content: CopyContent, files: Set[str], properties: bytes) -> tuple[Adler, Adler, Adler]:
    """Return the checksums of the other files: before columns.psf, between it and index_map, and after."""
    sums = {**content.files, content.properties_path: Adler(properties)}
    groups: tuple[list[Adler], list[Adler], list[Adler]] = ([], [], [])
    for path in content.summed():
        if path in files and path not in (COLUMNS, INDEX_MAP):
            key = java_order(path)
            groups[(key > java_order(COLUMNS)) + (key > java_order(INDEX_MAP))].append(sums[path])
    before, between, after = (Adler.joined(group) for group in groups)
    return before, between, after
