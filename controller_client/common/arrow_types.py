"""The mapping of Pinot's data types to Arrow's; needs pyarrow."""

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
"""Data types that Pinot stores in the same form as Arrow."""

ARROW_TYPES: Mapping[str, pa.DataType] = {
    **NUMBER_TYPES,
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("ms"),
    "STRING": pa.string(),
    "JSON": pa.string(),
    "BYTES": pa.binary(),
}
"""All data types with a fixed Arrow type; BIG_DECIMAL has none, because its digits depend on the values."""
