"""The hierarchy of errors, divided by what a caller may do next.

::

    PinotPluginError
    ├── InputError                the caller's input is wrong; nothing was applied: fix the input, run again
    │   ├── ConfigError           an option or parameter (named, with the closest valid one)
    │   ├── DataError             a file, row or field of the source data
    │   └── SourceError           the source of the data: missing folder or bucket, refused credentials
    ├── SetupError                this machine or process: no JDK, jars that do not match, a port in use ...
    │   ├── DiskFullError         a disk is full: free some space; the data are not at fault
    │   └── HeapFullError         Java's heap is too small for the segment; the data are not at fault
    ├── NotAppliedError           the cluster certainly did not apply the call: it is safe to repeat
    │   ├── UnreachableError      no connection could be made, nothing was sent
    │   ├── AuthError             the cluster refused the credentials
    │   ├── NotFoundError         the table, schema, segment ... does not exist
    │   ├── ConflictError         the state has changed since the call's basis was read
    │   │   ├── LockHeldError     another process holds the lock
    │   │   └── LeaseLostError    this process no longer holds the lease that makes it the active one
    │   ├── RejectedError         the cluster read the call and refused it
    │   │   └── LostEndError      a partition would be resumed where its rows are read twice
    │   ├── UnsafeDeleteError     deleting segments would break more than their rows: accept it, or do not
    │   ├── UnsupportedError      the cluster's version lacks it (the message names the first that has it)
    │   └── FormatVersionError    another release of this project wrote a record: upgrade
    ├── OutcomeUnknownError       a timeout or a lost reply: read the state back before doing anything else
    ├── AppliedError              the call was applied, but a later step failed or the response was unexpected
    ├── QueryError                the broker returned exceptions
    │   └── PartialResultError    the result lacks servers or segments that the broker queried
    └── WaitTimeoutError          an awaited state did not come in time; the last state seen is reported

Each error reports what was found, what was expected, where, and what to do. Errors cross process boundaries
(Spark, multiprocessing), so all of them can be pickled.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "AppliedError",
    "AuthError",
    "ConfigError",
    "ConflictError",
    "DataError",
    "DiskFullError",
    "FormatVersionError",
    "HeapFullError",
    "InputError",
    "LeaseLostError",
    "LockHeldError",
    "LostEndError",
    "NotAppliedError",
    "NotFoundError",
    "OutcomeUnknownError",
    "PartialResultError",
    "PinotPluginError",
    "QueryError",
    "RejectedError",
    "SetupError",
    "SourceError",
    "UnreachableError",
    "UnsafeDeleteError",
    "UnsupportedError",
    "WaitTimeoutError",
]


class PinotPluginError(Exception):
    """Base class of all errors of this project.

    Args:
        message: One sentence: what happened, to which object, and what was found. No secrets.
        expected: What was expected instead, if the message does not make that obvious.
        where: Where it happened: a URL without credentials, a file, a znode, a table.
        remedy: What the reader should do next.
        http_status: The status of the HTTP response, if there was one.
    """

    exit_code: ClassVar[int] = 1
    """The exit code of ``pinotctl`` for this error: 1 failed, 2 usage, 3 outcome unknown."""

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        where: str | None = None,
        remedy: str | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.where = where
        self.remedy = remedy
        self.http_status = http_status

    def __str__(self) -> str:
        parts = [self.message]
        if self.expected:
            parts.append(f"Expected: {self.expected}")
        if self.where:
            parts.append(f"Where: {self.where}")
        if self.remedy:
            parts.append(f"What to do: {self.remedy}")
        return "\n  ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


def _rebuild(cls: type[PinotPluginError], args: tuple[Any, ...], state: dict[str, Any]) -> PinotPluginError:
    error = cls.__new__(cls)
    Exception.__init__(error, *args)
    error.__dict__.update(state)
    return error


class InputError(PinotPluginError):
    """The caller's input is wrong and nothing was applied."""


class ConfigError(InputError):
    """An option or parameter is wrong; the message names it and, if it is misspelt, the closest valid one."""

    exit_code = 2


class DataError(InputError):
    """A file, a row or a field of the source data is wrong; the message names them."""


class SourceError(InputError):
    """The source of the data is missing, unreadable or empty, or refuses the credentials."""


class SetupError(PinotPluginError):
    """This machine or process lacks something: a JDK, matching jars, a free port, disk space."""


class DiskFullError(SetupError):
    """A disk is full, or a limit on its use is reached; the message names the folder and the bytes."""


class HeapFullError(SetupError):
    """Java's heap ran out while a segment was built; the message names its size and what to set."""


class NotAppliedError(PinotPluginError):
    """The cluster certainly did not apply the call."""


class UnreachableError(NotAppliedError):
    """No connection could be made, so nothing was sent."""


class AuthError(NotAppliedError):
    """The cluster refused the credentials."""


class NotFoundError(NotAppliedError):
    """The object named in the call does not exist."""


class ConflictError(NotAppliedError):
    """The state is not what the call was based on."""


class LockHeldError(ConflictError):
    """Another process holds the lock; the message names it."""


class LeaseLostError(ConflictError):
    """This process no longer holds its lease, so it must not do what only the holder may do."""


class RejectedError(NotAppliedError):
    """The cluster read the call and refused it."""


class LostEndError(RejectedError):
    """A resume would read rows again, because a partition's newest segments are gone; nothing was changed."""


class UnsafeDeleteError(NotAppliedError):
    """Deleting these segments would break more than their rows; the message lists what. See ``accept``."""


class UnsupportedError(NotAppliedError):
    """The cluster's version lacks what the call needs; the message names the first version that has it."""


class FormatVersionError(NotAppliedError):
    """A record kept by this project has a format version that this release cannot read.

    The record is intact and belongs to another release: a release that cannot read it leaves it unchanged.

    Args:
        message: One sentence: which record, where, its version, the supported versions, what to do.
        record: Which kind of record.
        place: Where it is: a znode, a file, an offset of a topic.
        found: Its version.
    """

    def __init__(self, message: str, *, record: str, place: str, found: int) -> None:
        super().__init__(message)
        self.record = record
        self.place = place
        self.found = found


class OutcomeUnknownError(PinotPluginError):
    """The call may or may not have been applied: read the state back before doing anything else."""

    exit_code = 3


class AppliedError(PinotPluginError):
    """The call was applied, but a later step failed or the response was unexpected."""


class QueryError(PinotPluginError):
    """The broker returned exceptions for a query.

    Attributes:
        codes: Pinot's error codes (``org.apache.pinot.common.exception.QueryException``).
    """

    codes: frozenset[int] = frozenset()


class PartialResultError(QueryError):
    """The result lacks servers or segments, so it does not cover the whole table."""


class WaitTimeoutError(PinotPluginError):
    """An awaited state did not come in time; the message reports the last state seen."""
