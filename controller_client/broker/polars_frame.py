"""A query's result as a DataFrame of polars, with the types of its Arrow table."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from controller_client.broker.arrow import arrow_table
from controller_client.broker.rows import ResultRows
from controller_client.errors import DataError

__all__ = ["polars_frame"]


def polars_frame(result: ResultRows) -> pl.DataFrame:
    """Return a result's DataFrame.

    Raises:
        ConfigError: Two columns have one name.
        DataError: A value has no place in its column's type: decimals of polars have at most 38 digits.
    """
    result.names()
    table = arrow_table(result)
    for column in table.schema:
        if pa.types.is_decimal256(column.type):
            raise DataError(
                f"values of the column {column.name} have more digits than decimals of polars, which have 38",
                remedy="select it as text with CAST, or take the result's Arrow table",
            )
    return pl.DataFrame(table)
