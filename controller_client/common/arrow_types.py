"""The one map of Pinot's data types to Arrow's; needs pyarrow."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

__all__ = ["ARROW_TYPES", "NUMBER_TYPES"]

NUMBER_TYPES: Mapping[str, pa.DataType] = {
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
}
"""Data types that Pinot stores as Arrow does."""

ARROW_TYPES: Mapping[str, pa.DataType] = {
    **NUMBER_TYPES,
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("ms"),
    "STRING": pa.string(),
    "JSON": pa.string(),
    "BYTES": pa.binary(),
}
"""All data types that have one type of Arrow's; BIG_DECIMAL has not: its digits depend on the values."""
