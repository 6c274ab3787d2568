"""What to do about a store's faults, in the words of all stores."""

from __future__ import annotations

from controller_client.common.text import visible
from controller_client.errors import SourceError

__all__ = ["BROKEN_REPLY", "OVERLOADED", "OVERLOADED_STATUSES", "TOO_LONG", "check_copied"]

BROKEN_REPLY = (
    "check the store's address, then run again: something in between, such as a proxy, may answer in its"
    " place or cut its replies off"
)
OVERLOADED = "run again later: the store is overloaded or failing for the moment"
TOO_LONG = "check the store's address, list a folder with fewer files, or set PINOT_MAX_REPLY_BYTES"
OVERLOADED_STATUSES = frozenset({429, 500, 502, 503, 504})


def check_copied(source_uri: str, target_uri: str, size_bytes: int, copied_bytes: int | None) -> None:
    """Check the size of a moved file, before anything is deleted at its source.

    Raises:
        SourceError: It is not complete at the target.
    """
    if copied_bytes != size_bytes:
        present = "nothing is" if copied_bytes is None else f"{copied_bytes} bytes are"
        raise SourceError(
            f"{visible(source_uri)} was not moved to {visible(target_uri)}: {present} there",
            expected=f"{size_bytes} bytes",
            remedy="run again: if the store copies in the background, the copy may be complete by then",
        )
