"""The result of a query, as rows or as an Arrow, pandas or polars table."""

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
    """The broker's statistics on a query.

    With ``groups_limit_reached``, groups are missing from the result. ``segments_invalid`` counts segments
    that lack a column of the query: servers skip them without an error. ``segments_queried`` does not include
    ``segments_pruned_by_broker``, which servers are not asked for. ``row_filters_applied`` is True if
    the broker removed rows that this user may not see (Pinot 1.4 and later).
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
    segments_pruned_by_broker: int = 0


@dataclass(frozen=True)
class QueryResult(ResultRows):
    """A query's result; iterating over it yields its rows.

    Attributes:
        stats: The broker's statistics.
        broker_url: The broker that answered.
        versions: Upsert table (name with type) -> its version in the result, as reported by a broker with the
            hook ``upsert``; empty if none is reported.
    """

    stats: QueryStats
    broker_url: str
    versions: Mapping[str, int] = field(default_factory=dict)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table; for its types see :mod:`controller_client.broker.arrow`.

        Raises:
            SetupError: pyarrow is not installed (extra ``arrow``).
            DataError: A value does not fit Arrow's type.
        """
        try:
            from controller_client.broker.arrow import arrow_table
        except ModuleNotFoundError as error:
            raise missing_module(error, "a result as an Arrow table", ["arrow"]) from error
        return arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame; for its types see :mod:`controller_client.broker.pandas_frame`.

        Raises:
            SetupError: pandas or pyarrow is not installed (extra ``pandas``).
            DataError: A value does not fit the column's type.
        """
        try:
            from controller_client.broker.pandas_frame import pandas_frame
        except ModuleNotFoundError as error:
            raise missing_module(error, "a result as a pandas DataFrame", ["pandas"]) from error
        return pandas_frame(self)

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame with the types of the Arrow table.

        Raises:
            SetupError: polars or pyarrow is not installed (extra ``polars``).
            ConfigError: Two columns have the same name.
            DataError: A value does not fit the column's type.
        """
        try:
            from controller_client.broker.polars_frame import polars_frame
        except ModuleNotFoundError as error:
            raise missing_module(error, "a result as a polars DataFrame", ["polars"]) from error
        return polars_frame(self)
