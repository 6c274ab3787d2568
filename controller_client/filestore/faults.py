"""What to do about a store's faults, in the words of all stores."""

from __future__ import annotations

__all__ = ["BROKEN_REPLY", "OVERLOADED", "OVERLOADED_STATUSES", "TOO_LONG"]

BROKEN_REPLY = (
    "check the store's address, then run again: something in between, such as a proxy, may answer in its"
    " place or cut its replies off"
)
OVERLOADED = "run again later: the store is overloaded or failing for the moment"
TOO_LONG = "check the store's address, list a folder with fewer files, or set PINOT_MAX_REPLY_BYTES"
OVERLOADED_STATUSES = frozenset({429, 500, 502, 503, 504})
