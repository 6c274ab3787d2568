"""Who holds a lock or stands in line for a lease, as all processes of the cluster can read it."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass, fields

from controller_client.clock import Clock
from controller_client.common.formats import Format
from controller_client.errors import DataError

__all__ = ["HOLDER_FORMAT", "LockHolder", "process_name"]

HOLDER_FORMAT = Format("the name of a lock's holder")


@dataclass(frozen=True)
class LockHolder:
    """Who holds a lock, or stands in line for a lease; written into its znode.

    Attributes:
        owner: The name that the holder gave.
        host: Its machine.
        pid: Its process there.
        since_epoch_s: When it began to ask for it.
    """

    owner: str
    host: str
    pid: int
    since_epoch_s: float

    @classmethod
    def of_this_process(cls, owner: str, clock: Clock) -> LockHolder:
        """This process, from now on."""
        return cls(owner, socket.gethostname(), os.getpid(), clock.now())

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(HOLDER_FORMAT.stamp_json(asdict(self)))

    @classmethod
    def from_json(cls, data: str | bytes, where: str) -> LockHolder:
        """As :meth:`to_json` made it.

        Raises:
            FormatVersionError: A process of a later release did.
            DataError: Nobody of this project did.
        """
        try:
            named = json.loads(data)
            HOLDER_FORMAT.check(named, where)
            owner, host, pid, since = (named[each.name] for each in fields(cls))
            return cls(str(owner), str(host), int(pid), float(since))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"this is no name of a lock's holder ({type(error).__name__})", where=where
            ) from error

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.since_epoch_s))
        return f"{self.owner} (host {self.host}, pid {self.pid}, since {since})"


def process_name() -> str:
    """Name this process for those who wait for it: user, host and process id."""
    return f"{getpass.getuser()}@{socket.gethostname()}:{os.getpid()}"
