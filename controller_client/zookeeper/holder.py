"""The holder of a lock, or a candidate for a lease, as all processes of the cluster can read it."""

from __future__ import annotations

import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass, fields

from controller_client.clock import Clock
from controller_client.common.formats import Format
from controller_client.common.text import utc_text
from controller_client.errors import DataError

__all__ = ["HOLDER_FORMAT", "LockHolder", "process_name"]

HOLDER_FORMAT = Format("the name of a lock's holder")


@dataclass(frozen=True)
class LockHolder:
    """The holder of a lock, or a candidate for a lease; stored in its znode.

    Attributes:
        owner: The holder's name for itself.
        host: Its machine.
        pid: Its process id.
        since_epoch_s: When it requested the lock or lease.
    """

    owner: str
    host: str
    pid: int
    since_epoch_s: float

    @classmethod
    def of_this_process(cls, owner: str, clock: Clock) -> LockHolder:
        """Return a holder for this process, as of now."""
        return cls(owner, socket.gethostname(), os.getpid(), clock.now())

    def to_json(self) -> str:
        """Return the stored form."""
        return json.dumps(HOLDER_FORMAT.stamp_json(asdict(self)))

    @classmethod
    def from_json(cls, data: str | bytes, where: str) -> LockHolder:
        """Parse the stored form.

        Raises:
            FormatVersionError: A process of a later release wrote it.
            DataError: No process of this project wrote it.
        """
        try:
            named = json.loads(data)
            HOLDER_FORMAT.check(named, where)
            owner, host, pid, since = (named[each.name] for each in fields(cls))
            return cls(str(owner), str(host), int(pid), float(since))
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise DataError(
                f"the content does not name a lock's holder ({type(error).__name__})", where=where
            ) from error

    def __str__(self) -> str:
        since = utc_text(self.since_epoch_s * 1000)
        return f"{self.owner} (host {self.host}, pid {self.pid}, since {since})"


def process_name() -> str:
    """Return a name for this process, for those waiting for it: user, host and process id."""
    return f"{getpass.getuser()}@{socket.gethostname()}:{os.getpid()}"
