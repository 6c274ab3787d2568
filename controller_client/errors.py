"""The one tree of errors, split by what a caller may do next.

::

    PinotPluginError
    ├── InputError                the caller's input is wrong; nothing was applied: fix the input, run again
    │   ├── ConfigError           an option or parameter (named, with the nearest right one)
    │   ├── DataError             a file, row or field of the source data
    │   └── SourceError           where the data comes from: missing folder or bucket, refused credentials
    ├── SetupError                this machine or process: no JDK, jars that do not fit, a port in use ...
    │   ├── DiskFullError         no room is left on a disk: make room, the data are not at fault
    │   └── HeapFullError         Java's heap is too small for what is built: the data are not at fault
    ├── NotAppliedError           the cluster certainly did not apply the call: it may be made again
    │   ├── UnreachableError      no connection could be made, nothing was sent
    │   ├── AuthError             the cluster refused the credentials
    │   ├── NotFoundError         the table, schema, segment ... is not there
    │   ├── ConflictError         the state is not what the call was based on: changed meanwhile
    │   │   ├── LockHeldError     somebody else holds the lock
    │   │   └── LeaseLostError    this process is not the one of several that works, any more
    │   ├── RejectedError         the cluster read the call and refused it
    │   ├── UnsupportedError      this cluster's version does not have it (the message names the first)
    │   └── FormatVersionError    a record of this project was written by another release of it: upgrade
    ├── OutcomeUnknownError       a time-out or a lost reply: read the state back before anything else
    ├── AppliedError              the call was applied, but what came after it failed or the answer was odd
    ├── QueryError                the broker answered with exceptions
    │   └── PartialResultError    the broker answered with fewer servers or segments than it asked
    └── WaitTimeoutError          a state was waited for and did not come; what was seen last is reported

Each error reports what was expected, what was found, where, and what to do. Errors cross process borders
(Spark, multiprocessing), so all of them pickle.
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
    "UnsupportedError",
    "WaitTimeoutError",
]


class PinotPluginError(Exception):
    """Root of all errors of this project.

    Args:
        message: One sentence: what happened, to what, and what was found. No secrets.
        expected: What was expected instead, if that is not plain from the message.
        where: The place: a URL without credentials, a file, a znode, a table.
        remedy: What the reader should do next.
        http_status: The status of the HTTP answer, where there was one.
    """

    exit_code: ClassVar[int] = 1
    """What ``pinotctl`` ends with when this error reaches it: 1 failed, 2 usage, 3 outcome unknown."""

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
    """An option or parameter is wrong; the message names it, and the nearest right one of a misspelt one."""

    exit_code = 2


class DataError(InputError):
    """A file, a row or a field of the source data is wrong; the message names them."""


class SourceError(InputError):
    """The place the data comes from is missing, unreadable, empty or refuses the credentials."""


class SetupError(PinotPluginError):
    """This machine or process lacks something: a JDK, fitting jars, a free port, disk space."""


class DiskFullError(SetupError):
    """No room is left on a disk, or under a limit of it; the message names the folder and the bytes."""


class HeapFullError(SetupError):
    """Java's heap was full while a segment was built; the message names its size and what to set."""


class NotAppliedError(PinotPluginError):
    """The cluster certainly did not apply the call."""


class UnreachableError(NotAppliedError):
    """No connection could be made, so nothing was sent."""


class AuthError(NotAppliedError):
    """The cluster refused the credentials."""


class NotFoundError(NotAppliedError):
    """The object that the call names is not there."""


class ConflictError(NotAppliedError):
    """The state is not what the call was based on."""


class LockHeldError(ConflictError):
    """Somebody else holds the lock; the message names who."""


class LeaseLostError(ConflictError):
    """This process does not hold its lease any more, so it must not do what only the holder does."""


class RejectedError(NotAppliedError):
    """The cluster read the call and refused it."""


class UnsupportedError(NotAppliedError):
    """The cluster's version lacks what the call needs; the message names the first version that has it."""


class FormatVersionError(NotAppliedError):
    """A record that this project keeps is of a format version that this release does not read.

    It is whole, and somebody else's to change: who cannot read it leaves it as it is.

    Args:
        message: One sentence: which record, where, its version, the versions that are read, what to do.
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
    """The call may or may not have been applied: read the state back before anything else."""

    exit_code = 3


class AppliedError(PinotPluginError):
    """The call was applied, but what came after it failed or the answer was not as expected."""


class QueryError(PinotPluginError):
    """The broker answered a query with exceptions.

    Attributes:
        codes: Pinot's numbers of them (``org.apache.pinot.common.exception.QueryException``).
    """

    codes: frozenset[int] = frozenset()


class PartialResultError(QueryError):
    """The broker's answer lacks servers or segments, so its numbers are not the table's."""


class WaitTimeoutError(PinotPluginError):
    """A state was waited for and did not come in time; the message reports what was seen last."""
