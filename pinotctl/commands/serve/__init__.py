"""Host a Pinot role in this process, with Python hooks."""

from __future__ import annotations

import click

from pinotctl.commands import SERVE_COMMANDS
from pinotctl.lazy import LazyGroup

__all__ = ["serve"]


@click.group(help=__doc__, cls=LazyGroup, lazy_commands=SERVE_COMMANDS)
def serve() -> None:  # noqa: D103  # help is the module's docstring
    pass
