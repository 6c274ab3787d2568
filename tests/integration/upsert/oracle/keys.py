"""The oracle's keys: a string and a number."""

from __future__ import annotations

__all__ = ["KEY", "Key", "key_in", "key_of"]

Key = tuple[int, int]
"""The number in the holder's name, and the account."""

KEY = {"holder": "STRING", "account": "LONG"}
"""The columns and their types."""

# Both columns together identify a key, but their concatenation does not: h1, 23 is not h12, 3.
_ACCOUNTS = 30


def key_of(number: int) -> dict[str, str | int]:
    """Return the columns of a key; each number has a different key."""
    return {"holder": f"h{number // _ACCOUNTS}", "account": number % _ACCOUNTS}


def key_in(document: dict[str, str | int]) -> Key:
    """Return the key of a record or of a tombstone's message key."""
    return int(str(document["holder"])[1:]), int(document["account"])
