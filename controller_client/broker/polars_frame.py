"""A query's result as a polars DataFrame, with the types of its Arrow table."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from controller_client.broker.arrow import arrow_table
from controller_client.broker.rows import ResultRows
from controller_client.errors import DataError

__all__ = ["polars_frame"]


def polars_frame(result: ResultRows) -> pl.DataFrame:
    """Return a result as a polars DataFrame.

    Raises:
        ConfigError: Two columns have the same name.
        DataError: A value does not fit its column's type: polars decimals have at most 38 digits.
    """
    result.names()
    table = arrow_table(result)
    for column in table.schema:
        if pa.types.is_decimal256(column.type):
            raise DataError(
                f"values of the column {column.name} have more than the 38 digits of polars decimals",
                remedy="select it as a string with CAST, or use the result's Arrow table",
            )
    return pl.DataFrame(table)
