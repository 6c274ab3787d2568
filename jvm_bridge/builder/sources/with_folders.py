"""Adds the columns that are in the names of a file's folders to the batches of its own columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from jvm_bridge.builder.planning import TableRequirements, Unsuitable, plan_column
from jvm_bridge.builder.sources.source import Batch, Source
from jvm_bridge.folder_columns import FolderColumns

__all__ = ["with_folders"]


def with_folders(source: Source, folders: FolderColumns, table: TableRequirements) -> Source:
    """Return a source that has the columns of folders too, as texts.

    Raises:
        Unsuitable: The file has one of the columns too, so that each row must be compared; only while batches
            are read.
    """
    texts = {name: text for name, text in folders.items() if name in table.columns}
    if not texts:
        return source
    kinds = {name: None if text is None else pa.large_string() for name, text in texts.items()}
    plans = tuple(
        plan_column(plan.field, kinds[plan.field.name]) if plan.field.name in kinds else plan
        for plan in source.plans
    )
    return replace(source, plans=plans, batches=_batches(source.batches, texts, table))


def _batches(batches: Iterator[Batch], texts: FolderColumns, table: TableRequirements) -> Iterator[Batch]:
    for batch in batches:
        for name in sorted(texts.keys() & (batch.columns.keys() | batch.arguments.keys())):
            raise Unsuitable(f"column {name} is in the file and in the name of its folder")
        columns = {
            name: pa.repeat(pa.scalar(text, pa.large_string()), batch.rows)
            for name, text in texts.items()
            if text is not None
        }
        added = Batch.of(columns, batch.rows, table)
        yield Batch({**batch.columns, **added.columns}, batch.rows, {**batch.arguments, **added.arguments})
