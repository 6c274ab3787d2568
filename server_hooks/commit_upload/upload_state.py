"""What a tar in the backlog is at, and what the backlog as a whole is at: one table of transitions each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["FINAL", "LEVEL_CHANGES", "UPLOAD_CHANGES", "BacklogLevel", "UploadState"]


class UploadState(StrEnum):
    """What a tar whose commit went on without the store is at."""

    WAITING = "waiting"
    """For its next upload."""
    UPLOADING = "uploading"
    """A thread of ours is at it, and cannot be interrupted."""
    UPLOADED = "uploaded"
    """In the store, under the temporary name of its commit; no record names it yet."""
    REGISTERED = "registered"
    """In its place, with its url in the segment's record."""
    NOT_NEEDED = "not_needed"
    """The segment is gone, has a url already, or was committed with another content."""
    GIVEN_UP = "given_up"
    """Left to the repair, which makes a tar of what the servers serve."""


UPLOAD_CHANGES: Mapping[UploadState, frozenset[UploadState]] = {
    UploadState.WAITING: frozenset({UploadState.UPLOADING, UploadState.NOT_NEEDED, UploadState.GIVEN_UP}),
    UploadState.UPLOADING: frozenset(
        {UploadState.UPLOADED, UploadState.WAITING, UploadState.NOT_NEEDED, UploadState.GIVEN_UP}
    ),
    UploadState.UPLOADED: frozenset(
        {UploadState.WAITING, UploadState.REGISTERED, UploadState.NOT_NEEDED, UploadState.GIVEN_UP}
    ),
    UploadState.REGISTERED: frozenset(),
    UploadState.NOT_NEEDED: frozenset(),
    UploadState.GIVEN_UP: frozenset(),
}
"""To which states each may change."""

FINAL = frozenset(state for state, after in UPLOAD_CHANGES.items() if not after)
"""A tar in one of them is in the backlog no more."""


class BacklogLevel(StrEnum):
    """What the backlog is at; each change is logged once."""

    EMPTY = "empty"
    BEHIND = "behind"
    """Tars wait for the store."""
    OVERFLOWING = "overflowing"
    """It has reached a bound since it was empty, so some are left to the repair."""


LEVEL_CHANGES: Mapping[BacklogLevel, frozenset[BacklogLevel]] = {
    BacklogLevel.EMPTY: frozenset({BacklogLevel.BEHIND}),
    BacklogLevel.BEHIND: frozenset({BacklogLevel.EMPTY, BacklogLevel.OVERFLOWING}),
    BacklogLevel.OVERFLOWING: frozenset({BacklogLevel.EMPTY}),
}
"""To which levels each may change."""
