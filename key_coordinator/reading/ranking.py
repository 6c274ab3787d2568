"""User-defined order of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from controller_client.common.extras import missing_module
from controller_client.errors import ConfigError
from key_coordinator.reading.recipe import RankFunction, Recipe

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ranks_of"]


def ranks_of(
    recipe: Recipe,
    rows: Sequence[Mapping[str, Any] | None],
    times: NDArray[np.int64],
    kept: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the ranks of records.

    Args:
        recipe: How records are read, with the ranking function.
        rows: The records' columns.
        times: Times of the records, milliseconds since 1970; for a tombstone, Kafka's timestamp.
        kept: Mask of the records with a key: the function is called only for those.

    Raises:
        SetupError: pandas is not installed.
        ConfigError: The function raises an error whatever the records are, or did not return one integer per
            record.
        Exception: What the function raised because of a record.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise missing_module(error, "a function that ranks records") from error
    ranks = np.zeros(len(rows), np.int64)
    if recipe.rank is None or not kept.any():
        return ranks
    chosen = [row for row, keep in zip(rows, kept, strict=True) if keep and row is not None]
    columns = {
        name: times[kept].astype(str).tolist()
        if name == recipe.time.name
        else [_text(row.get(name)) for row in chosen]
        for name in recipe.rank_columns
    }
    frame = pd.DataFrame(columns, dtype=object)
    try:
        numbers = np.asarray(recipe.rank(frame), np.int64)
    except Exception as error:  # a user's function may raise anything
        _check_works(recipe.rank, frame[:0], error)
        raise
    if numbers.shape != (len(chosen),):
        raise ConfigError(
            f"the function that ranks records returned {numbers.shape} numbers for {len(chosen)} records",
            expected="one for each record, in the same order",
        )
    ranks[kept] = numbers
    return ranks


def _check_works(rank: RankFunction, nothing: pd.DataFrame, error: Exception) -> None:
    """Raise an error unless a function can be called at all, so that its failure is a record's fault."""
    try:
        rank(nothing)
    except Exception as without_records:  # likewise
        raise ConfigError(
            f"the function that ranks records failed: {type(error).__name__}: {error}",
            expected="an integer for each record",
        ) from without_records


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    return orjson.dumps(value).decode() if isinstance(value, bool | list | dict) else str(value)
