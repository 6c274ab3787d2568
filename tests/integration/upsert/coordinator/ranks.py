"""A function that ranks records, as a user would write it, and a distribution that registers it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from key_coordinator.plan import RANK_FUNCTIONS
from tests.support import installed

NAME = "by_priority"


def install(folder: Path) -> None:
    """Register the function for processes with the folder on their path."""
    installed.install(folder, "ranks-of-tests", {RANK_FUNCTIONS: {NAME: f"{__name__}:by_priority"}})


def by_priority(records: pd.DataFrame) -> NDArray[np.int64]:
    """Rank by priority, then by time; a tombstone has no priority column and gets the highest priority."""
    priority = pd.to_numeric(records["priority"]).fillna(9).to_numpy(np.int64)
    ranks: NDArray[np.int64] = pd.to_numeric(records["ts"]).to_numpy(np.int64) + priority * 10**13
    return ranks


by_priority.columns = ("priority",)  # type: ignore[attr-defined]  # what it gets beside key and time
