"""A query's result as a pandas DataFrame.

=================  ================================  ==================================
Pinot              without nulls                     with nulls
=================  ================================  ==================================
INT, LONG          int32, int64                      Int32, Int64
FLOAT, DOUBLE      float32, float64                  Float32, Float64 (NaN is not null)
BOOLEAN            bool                              boolean
TIMESTAMP          datetime64[ms], see Arrow         the same, with NaT
BIG_DECIMAL        Decimal, of any length            None
STRING, JSON       str                               None
BYTES              bytes                             None
arrays             list                              None
=================  ================================  ==================================
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from controller_client.broker.arrow import arrow_column
from controller_client.broker.rows import ResultRows

__all__ = ["pandas_frame"]

_NULLABLE = {
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


def pandas_frame(result: ResultRows) -> pd.DataFrame:
    """Return a result as a pandas DataFrame.

    Raises:
        DataError: A value does not fit its column's type; the error names the column.
    """
    frame = pd.DataFrame({n: _series(result, n) for n in range(len(result.columns))}, copy=False)
    frame.columns = pd.Index([column.name for column in result.columns], dtype=object)
    return frame


def _series(result: ResultRows, number: int) -> Any:
    kind = result.columns[number].data_type
    if kind in ("BIG_DECIMAL", "BIG_DECIMAL_ARRAY"):
        return pd.Series(result.values(number), dtype=object)
    array = arrow_column(result, number)
    if pa.types.is_list(array.type):
        return pd.Series(array.to_pylist(), dtype=object)
    return array.to_pandas(types_mapper=_NULLABLE.get if array.null_count else None)
