"""Host a Pinot role in this process, with Python hooks."""

from __future__ import annotations

import click

from pinotctl.lazy import LazyGroup

__all__ = ["serve"]

_COMMANDS = {
    "broker": "pinotctl.commands.serve.broker:broker [server]",
    "minion": "pinotctl.commands.serve.minion:minion [minion]",
    "server": "pinotctl.commands.serve.server:server [server]",
}


@click.group(help=__doc__, cls=LazyGroup, lazy_commands=_COMMANDS)
def serve() -> None:  # noqa: D103  # help is the module's docstring
    pass
