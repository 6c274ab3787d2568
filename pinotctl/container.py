"""The entry point of the image, with the arguments of the official image: those of ``pinot-admin.sh``.

=====================================  ===========================================================
``StartMinion``, ``StartServer``,      the role hosted in Python, with the same arguments
``StartBroker``
``StartStockMinion``, ...              the stock role
``pinotctl ...``                       any other command of this project
others, e.g. ``StartController``       ``pinot-admin.sh``, unchanged
=====================================  ===========================================================

The process is replaced by the role or becomes it, so signals reach the role.
The module imports almost nothing, so that the signals are handled at once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

__all__ = ["PinotAdmin", "Pinotctl", "command_of", "end_at_once_as_init", "hand_over_signals", "main"]


_OF_SIGNALS = 128
"""Exit code of a process that a signal ended, minus the signal's number."""


def end_at_once_as_init(*numbers: signal.Signals, pid: int | None = None) -> None:
    """Let signals end a container's first process like any other, until other handlers are installed.

    The kernel drops signals that pid 1 does not handle: a SIGTERM during the start would be lost, and the
    container would be killed after its grace period.

    Args:
        numbers: The signals.
        pid: The id of this process; for tests.
    """
    if (pid or os.getpid()) != 1:
        return
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_at_once)


def hand_over_signals() -> None:
    """Restore the signals that Python ignores, for the program that replaces this process."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    """Handle a signal; runs in the main thread, outside of Java."""
    os._exit(_OF_SIGNALS + number)


_ROLES = ("Minion", "Server", "Broker")

_HOSTED = {f"Start{role}": role.lower() for role in _ROLES}

_STOCK = {f"StartStock{role}": f"Start{role}" for role in _ROLES}

_PINOTCTL = "pinotctl"


@dataclass(frozen=True)
class Pinotctl:
    """A command of ``pinotctl``, run in this process."""

    arguments: tuple[str, ...]


@dataclass(frozen=True)
class PinotAdmin:
    """Pinot's own ``pinot-admin.sh``, which replaces this process."""

    arguments: tuple[str, ...]


def command_of(arguments: Sequence[str]) -> Pinotctl | PinotAdmin:
    """Return the command that a container with these arguments runs."""
    first, rest = (arguments[0], tuple(arguments[1:])) if arguments else ("-help", ())
    if first == _PINOTCTL:
        return Pinotctl(rest)
    if first in _HOSTED:
        return Pinotctl((*_log_level(first), "serve", _HOSTED[first], *rest))
    return PinotAdmin((_STOCK.get(first, first), *rest))


def _log_level(start_command: str) -> tuple[str, ...]:
    """Return the option for a minion's log, which by default has warnings only; log4j sets that of others."""
    return ("-v",) if start_command == "StartMinion" else ()


def main() -> NoReturn:
    """Run the command of the process' own arguments."""
    end_at_once_as_init(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    match command_of(sys.argv[1:]):
        case Pinotctl(arguments):
            # After the signal handlers are installed, as the import takes a second.
            from pinotctl.root import cli

            cli.main(arguments, prog_name=_PINOTCTL)
        case PinotAdmin(arguments):
            script = str(Path(os.environ.get("PINOT_HOME", "/opt/pinot")) / "bin" / "pinot-admin.sh")
            hand_over_signals()
            os.execv(script, [script, *arguments])  # noqa: S606  # a program of the image


if __name__ == "__main__":
    main()
