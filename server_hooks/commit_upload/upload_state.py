"""The states of a tar in the backlog and the levels of the backlog, each with its table of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["FINAL", "LEVEL_CHANGES", "UPLOAD_CHANGES", "BacklogLevel", "UploadState"]


class UploadState(StrEnum):
    """The state of a tar whose commit continued without the store."""

    WAITING = "waiting"
    """It waits for its next upload."""
    UPLOADING = "uploading"
    """A thread of the hook is uploading it, and cannot be interrupted."""
    UPLOADED = "uploaded"
    """It is in the store under the temporary name from its commit; no record refers to it yet."""
    REGISTERED = "registered"
    """It is at its final URI, and its URL is in the segment's record."""
    NOT_NEEDED = "not_needed"
    """The segment no longer exists, already has a URL, or was committed with other content."""
    DISCARDED = "discarded"
    """It was deleted without a copy in the store; `pinotctl deepstore repair` makes one from a server."""


UPLOAD_CHANGES: Mapping[UploadState, frozenset[UploadState]] = {
    UploadState.WAITING: frozenset({UploadState.UPLOADING, UploadState.NOT_NEEDED, UploadState.DISCARDED}),
    UploadState.UPLOADING: frozenset(
        {UploadState.UPLOADED, UploadState.WAITING, UploadState.NOT_NEEDED, UploadState.DISCARDED}
    ),
    UploadState.UPLOADED: frozenset(
        {UploadState.WAITING, UploadState.REGISTERED, UploadState.NOT_NEEDED, UploadState.DISCARDED}
    ),
    UploadState.REGISTERED: frozenset(),
    UploadState.NOT_NEEDED: frozenset(),
    UploadState.DISCARDED: frozenset(),
}
"""The states that each state may change to."""

FINAL = frozenset(state for state, after in UPLOAD_CHANGES.items() if not after)
"""States of tars that have left the backlog."""


class BacklogLevel(StrEnum):
    """The level of the backlog; each change is logged once."""

    EMPTY = "empty"
    BEHIND = "behind"
    """Tars wait for the store."""
    OVERFLOWING = "overflowing"
    """It has reached a limit since it was last empty, so some tars were discarded."""


LEVEL_CHANGES: Mapping[BacklogLevel, frozenset[BacklogLevel]] = {
    BacklogLevel.EMPTY: frozenset({BacklogLevel.BEHIND}),
    BacklogLevel.BEHIND: frozenset({BacklogLevel.EMPTY, BacklogLevel.OVERFLOWING}),
    BacklogLevel.OVERFLOWING: frozenset({BacklogLevel.EMPTY}),
}
"""The levels that each level may change to."""
