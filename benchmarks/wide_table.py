"""A table with 105 columns like ClickBench's hits: flags, small codes, hashes, times and texts.

The distributions resemble web traffic: most columns have few distinct values, some have one per row, and half
of the texts are empty. The same seed gives the same rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["COLUMNS", "wide_table"]

_FLAGS, _CODES, _COUNTS, _HASHES, _TIMES = 40, 24, 8, 6, 4
_SHORT_TEXTS, _LONG_TEXTS, _URLS = 12, 7, 4
COLUMNS = _FLAGS + _CODES + _COUNTS + _HASHES + _TIMES + _SHORT_TEXTS + _LONG_TEXTS + _URLS
_WORDS = ["buy", "car", "flat", "news", "weather", "film", "song", "книга", "music", "bank", "job", "game"]


def wide_table(rows: int, seed: int = 1) -> pa.Table:
    """Return this number of rows: 23 columns of texts, 10 of 64-bit numbers, the others of 32-bit numbers."""
    random = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    for number in range(_FLAGS):
        columns[f"flag_{number}"] = pa.array((random.random(rows) < 0.02 * (number + 1)).astype(np.int32))
    for number in range(_CODES):
        columns[f"code_{number}"] = pa.array(_skewed(random, rows, 20 * (number + 1)))
    for number in range(_COUNTS):
        columns[f"count_{number}"] = pa.array(_skewed(random, rows, 20_000 * (number + 1)))
    for number in range(_HASHES):
        among = random.integers(-(2**63), 2**63 - 1, max(1, rows // (2 * number + 1)), dtype=np.int64)
        columns[f"hash_{number}"] = pa.array(among[random.integers(0, len(among), rows)])
    begin = 1_372_636_800_000
    for number in range(_TIMES):
        columns[f"time_{number}"] = pa.array(begin + 1000 * np.sort(random.integers(0, 2_592_000, rows)))
    for number in range(_SHORT_TEXTS):
        columns[f"word_{number}"] = _texts(random, rows, 10 * (number + 1), 2)
    for number in range(_LONG_TEXTS):
        columns[f"phrase_{number}"] = _texts(random, rows, rows // 40 + 1, 5)
    for number in range(_URLS):
        columns[f"url_{number}"] = _texts(random, rows, rows // (number + 4) + 1, 9)
    return pa.table(columns)


def _skewed(random: np.random.Generator, rows: int, values: int) -> npt.NDArray[np.int32]:
    """Return numbers below a limit; small ones are more frequent."""
    return (values * random.random(rows) ** 4).astype(np.int32)


def _texts(random: np.random.Generator, rows: int, values: int, words: int) -> pa.Array:
    """Return texts of a few words and a number; half of them are empty."""
    picked = random.integers(0, len(_WORDS), (values, words))
    among = ["/".join(_WORDS[word] for word in row) + f"-{number}" for number, row in enumerate(picked)]
    codes = np.where(random.random(rows) < 0.5, 0, _skewed(random, rows, values) + 1)
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(["", *among])).cast(
        pa.string()
    )
