"""The result of a query: its rows, and the same as a table of Arrow, pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller_client.broker.rows import ResultRows
from controller_client.common.extras import missing_module

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["QueryResult", "QueryStats"]


@dataclass(frozen=True)
class QueryStats:
    """What the broker reports about how it got the result.

    With ``groups_limit_reached`` the result lacks groups. ``segments_invalid`` lack a column that the query
    names: servers leave them out without an error. ``row_filters_applied`` says whether the broker left out
    rows that this user may not see (Pinot 1.4 and later).
    """

    servers_queried: int
    servers_responded: int
    segments_queried: int
    segments_processed: int
    segments_pruned: int
    docs_scanned: int
    total_docs: int
    time_ms: int
    partial: bool
    groups_limit_reached: bool
    segments_invalid: int
    row_filters_applied: bool


@dataclass(frozen=True)
class QueryResult(ResultRows):
    """A query's result; iterating over it gives its rows.

    Attributes:
        stats: How the broker got it.
        broker_url: Which broker answered.
        versions: Upsert table (with type) -> the version that it was answered at, as a broker with the hook
            ``upsert`` names it; empty where it names none.
    """

    stats: QueryStats
    broker_url: str
    versions: Mapping[str, int] = field(default_factory=dict)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table; its types are in :mod:`controller_client.broker.arrow`.

        Raises:
            SetupError: pyarrow is not installed (extra ``arrow``).
            DataError: A value has no place in Arrow's type.
        """
        try:
            from controller_client.broker.arrow import arrow_table
        except ModuleNotFoundError as error:
            raise missing_module(error, "a result as an Arrow table", ["arrow"]) from error
        return arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame of pandas; its types are in :mod:`controller_client.broker.pandas_frame`.

        Raises:
            SetupError: pandas or pyarrow is not installed (extra ``pandas``).
            DataError: A value has no place in the column's type.
        """
        try:
            from controller_client.broker.pandas_frame import pandas_frame
        except ModuleNotFoundError as error:
            raise missing_module(error, "a result as a DataFrame of pandas", ["pandas"]) from error
        return pandas_frame(self)

    def to_polars(self) -> pl.DataFrame:
        """Return a DataFrame of polars, with the types of its Arrow table.

        Raises:
            SetupError: polars or pyarrow is not installed (extra ``polars``).
            ConfigError: Two columns have one name.
            DataError: A value has no place in the column's type.
        """
        try:
            from controller_client.broker.polars_frame import polars_frame
        except ModuleNotFoundError as error:
            raise missing_module(error, "a result as a DataFrame of polars", ["polars"]) from error
        return polars_frame(self)
