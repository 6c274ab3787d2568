"""A schema and a table config, with a task, for an Iceberg or Delta table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from controller_client.common.folders import scratch_folder
from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from controller_client.errors import ConfigError
from jvm_bridge.input_rules import FileFormat
from minion_tasks.file_ingestion.params.stores import LAKEHOUSES
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.inference.guesses import guess_column
from minion_tasks.inference.proposal import Proposal, merged_columns, proposal_of, table_named
from minion_tasks.inference.samples import FileSample, read_sample

__all__ = ["propose_following", "table_name_of_lakehouse"]

_UNITS = 10
"""How many data files are read."""


def propose_following(
    table_name: TableName,
    uri: str,
    table_format: str,
    configs: Mapping[str, str],
    *,
    time_column: str | None = None,
    max_rows: int = 10_000,
) -> Proposal:
    """Guess what a table that follows a lakehouse table should be, from the first rows of its data files.

    Args:
        table_name: The table's name.
        uri: The task's ``inputDirURI``.
        table_format: ``iceberg`` or ``delta``.
        configs: Other parameters of the task, such as the catalog's properties; they override its defaults.
        time_column: The time column; None: guess it.
        max_rows: Rows to read of each data file.

    Raises:
        ConfigError: A parameter is wrong, or the time column is none of the table's.
        SourceError: The table cannot be read.
        SetupError: What reads it is not installed.
    """
    if table_format not in LAKEHOUSES:
        raise ConfigError(f"{table_format} is no format of a lakehouse table", expected=", ".join(LAKEHOUSES))
    task = {
        "inputDirURI": uri,
        "inputFormat": table_format,
        "enableSync": "true",
        "consistentPushEnabled": "true",
        **configs,
    }
    samples = list(_samples(FileIngestionParams.from_configs(task), max_rows))
    columns = [guess_column(column, is_text=False) for column in merged_columns(samples)]
    rows = sum(sample.rows for sample in samples)
    note = f"guessed from {counted_text(rows, 'row')} of {counted_text(len(samples), 'data file')} of {uri}"
    return proposal_of(table_name, columns, task, time_column, [note])


def _samples(params: FileIngestionParams, max_rows: int) -> Iterator[FileSample]:
    source = params.stores.source
    listing = source.list(None)
    with scratch_folder("pinot-infer-") as folder:
        for unit in islice(listing.files, _UNITS):
            with source.local_copy(unit, listing.version, None, folder) as path:
                yield read_sample(path, FileFormat.PARQUET, max_rows)


def table_name_of_lakehouse(uri: str) -> TableName:
    """Return a name for a table that follows another one: the last part of its name or folder."""
    return table_named(re.split(r"[/.]", uri.rstrip("/"))[-1])
