"""Host a Pinot role in this process, with Python hooks."""

from __future__ import annotations

import click

from controller_client.cli.lazy import LazyGroup

__all__ = ["serve"]


@click.group(help=__doc__, cls=LazyGroup, entry_point_group="pinotctl.serve_commands")
def serve() -> None:  # noqa: D103  # help is the module's docstring
    pass
