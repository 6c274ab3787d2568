"""Which error an HTTP answer of Pinot is: one ladder by status, and a table of what Pinot answers otherwise.

The ladder is HTTP's. The table holds Pinot's quirks, each captured from a running controller of the version
that the row names; the first row that fits decides. A new quirk is a new row, and a new line in its test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller_client.errors import (
    AuthError,
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    RejectedError,
)

__all__ = ["OVERRIDES", "Override", "classify"]


@dataclass(frozen=True)
class Override:
    """One quirk: an answer that does not mean what its status says.

    Attributes:
        method: HTTP method.
        path: Pattern that the whole path matches, without the query.
        status: HTTP status.
        text: Pattern that is searched in the answer's text.
        error: What it is.
        remedy: What the reader should do, where that is plain.
        seen_on: Pinot version that it was captured from.
    """

    method: str
    path: re.Pattern[str]
    status: int
    text: re.Pattern[str]
    error: type[PinotPluginError]
    remedy: str | None = None
    seen_on: str = "0.11.0"


def _row(
    method: str, path: str, status: int, text: str, error: type[PinotPluginError], remedy: str | None = None
) -> Override:
    return Override(
        method, re.compile(path), status, re.compile(text, re.IGNORECASE | re.DOTALL), error, remedy
    )


_REPLACE = "/segments/[^/]+/"
_UPLOAD = "/(v2/)?segments"
_TASK = "/tasks/(task|subtask)/[^/]+/(state|config|debug)"
_READ_LINEAGE = "read the table's lineage before anything else"

OVERRIDES: tuple[Override, ...] = (
    # Checks before the lineage is written: nothing was applied.
    _row(
        "POST",
        _REPLACE + "startReplaceSegments",
        500,
        "Not all segments from 'segmentsFrom' are available",
        ConflictError,
        "take segmentsFrom from the list without replaced segments",
    ),
    _row(
        "POST",
        _REPLACE + "startReplaceSegments",
        500,
        "Any segments from 'segmentsTo' should not be available",
        ConflictError,
        "choose new names for the new segments",
    ),
    # One text for a refusal, a lost compare-and-set and a fault after the write: only the lineage tells.
    _row(
        "POST",
        _REPLACE + "(start|end|revert)ReplaceSegments",
        500,
        "Failed to update the segment lineage",
        OutcomeUnknownError,
        _READ_LINEAGE,
    ),
    # One answer for a flag that was not set (a lost compare-and-set, of which there is one attempt) and for
    # one that was set before the servers could not be told.
    _row(
        "POST",
        "/tables/[^/]+/(pause|resume)Consumption",
        500,
        "",
        OutcomeUnknownError,
        "read the table's pause status before anything else",
    ),
    # The table is looked up after the tar was received, and answered as a bad request.
    _row("POST", _UPLOAD, 400, "Failed to find table", NotFoundError, "create the table first"),
    # 403 of an upload is a refused segment (time range, quota), not refused credentials. The first of these
    # is read from SegmentValidationUtils: Pinot's own builder makes no such segment.
    _row(
        "POST",
        _UPLOAD,
        403,
        "Invalid segment start/end time",
        RejectedError,
        "check the time column's values",
    ),
    _row("POST", _UPLOAD, 403, "Failed to find time interval in segment", RejectedError),
    _row(
        "POST", _UPLOAD, 403, "Storage quota check failed", RejectedError, "raise the table's quota or delete"
    ),
    # A task type without tasks, and names that are no task's: internal exceptions of the controller.
    _row(
        "GET", _TASK, 500, "Index 1 out of bounds for length 1", NotFoundError, "see the type's list of tasks"
    ),
    _row(
        "GET",
        _TASK,
        500,
        "Workflow context for task type doesn't exist",
        NotFoundError,
        "see the list of task types",
    ),
    _row(
        "GET",
        _TASK,
        500,
        'because the return value of ".*" is null',
        NotFoundError,
        "see the type's list of tasks",
    ),
    _row("GET", "/tasks/[^/]+/state", 500, "getWorkflowContext.* is null", NotFoundError),
)


def classify(
    method: str, path: str, status: int, text: str, *, read_only: bool
) -> tuple[type[PinotPluginError], str | None]:
    """Say which error an answer is.

    Args:
        method: HTTP method.
        path: Path of the address without the query.
        status: HTTP status, 300 or more.
        text: The answer's own text; empty when it had none.
        read_only: Whether the call can change anything.

    Returns:
        The error's class and what to do, if that is known.
    """
    for row in OVERRIDES:
        if (
            row.method == method
            and row.status == status
            and row.path.fullmatch(path)
            and row.text.search(text)
        ):
            return row.error, row.remedy
    return _by_status(status, text, read_only=read_only)


def _by_status(status: int, text: str, *, read_only: bool) -> tuple[type[PinotPluginError], str | None]:
    if status in (401, 403):
        return AuthError, "check user name, password or token, and the rights behind them"
    if status == 404:
        return NotFoundError, None
    if status in (409, 410, 412):
        return ConflictError, None
    if status in (502, 503, 504):
        # Something between the client and the controller answered, or the controller gave up on the way.
        if read_only:
            return NotAppliedError, "look whether the role behind the address is up"
        return OutcomeUnknownError, "read the state back before the call is made again"
    if status >= 500 and not text and not read_only:
        return OutcomeUnknownError, "read the state back before the call is made again"
    return RejectedError, None
