"""A function that ranks records, as a user would write it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def by_priority(records: pd.DataFrame) -> NDArray[np.int64]:
    """Rank by priority, then by time; a tombstone has no priority column and gets the highest priority."""
    priority = pd.to_numeric(records["priority"]).fillna(9).to_numpy(np.int64)
    ranks: NDArray[np.int64] = pd.to_numeric(records["ts"]).to_numpy(np.int64) + priority * 10**13
    return ranks


by_priority.columns = ("priority",)  # type: ignore[attr-defined]  # what it gets beside key and time
