"""Arrays that Java has filled, with Arrow's layout, as Arrow arrays."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jvm_bridge.builder.planning import DECIMAL, MIXED, NESTED

__all__ = ["ARRAYS_PACKAGE", "arrow_array"]

ARRAYS_PACKAGE = "io.pinotplugins.arrays"


def arrow_array(values: Any, kind: pa.DataType) -> Any:
    """Return the values of a batch; Java's arrays become Arrow's buffers.

    Args:
        values: ``Values.java``.
        kind: Their type.
    """
    if pa.types.is_null(kind):  # items of type null
        return pa.nulls(int(values.count()))
    nulls = int(values.nulls())
    validity = pa.py_buffer(memoryview(values.validity())) if nulls else None
    buffers = [validity, *(pa.py_buffer(memoryview(each)) for each in values.buffers())]
    children = [arrow_array(values.items(), kind.value_type)] if pa.types.is_list(kind) else None
    if kind in (DECIMAL, MIXED, NESTED):
        kind = pa.string()
    return pa.Array.from_buffers(kind, int(values.count()), buffers, nulls, children=children)
