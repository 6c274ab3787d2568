"""Arrow lists with changed values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["with_values"]


def with_values(lists: Any, change: Callable[[Any], Any]) -> Any:
    """Return a list array as large lists with changed values; nulls and empty lists are unchanged.

    Args:
        lists: Lists or large lists.
        change: Converts an array of all values, in their order.
    """
    lengths = pc.cast(pc.fill_null(pc.list_value_length(lists), 0), pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    mask = lists.is_null() if lists.null_count else None
    return pa.LargeListArray.from_arrays(offsets, change(lists.flatten()), mask=mask)
