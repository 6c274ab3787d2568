"""Shows the end of log files, and new lines in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller_client.clock import Clock

__all__ = ["follow", "tail"]

_POLL_INTERVAL_S = 0.3


def tail(file: Path, lines: int) -> list[str]:
    """Return the last lines of a file; empty if the file does not exist."""
    try:
        with file.open(errors="replace") as log:
            return [line.rstrip("\n") for line in deque(log, maxlen=lines)]
    except FileNotFoundError:
        return []


def follow(files: Mapping[str, Path], clock: Clock) -> Iterator[tuple[str, str]]:
    """Yield (name, line) for every line that is written from now on; never ends.

    A file that is replaced, as when a role restarts, is read from its start.
    """
    positions = {name: _end(file) for name, file in files.items()}
    while True:
        for name, file in files.items():
            inode, offset = positions[name]
            now, size = _end(file)
            if now != inode or size < offset:
                inode, offset = now, 0
            if size > offset:
                with file.open("rb") as log:
                    log.seek(offset)
                    complete = log.read(size - offset).rpartition(b"\n")[0]
                if complete:
                    offset += len(complete) + 1
                    for line in complete.decode(errors="replace").split("\n"):
                        yield name, line
            positions[name] = (inode, offset)
        clock.sleep(_POLL_INTERVAL_S)


def _end(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_ino, status.st_size
