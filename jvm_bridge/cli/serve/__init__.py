"""Host a Pinot role in this process, with Python hooks."""

from __future__ import annotations

import click

from jvm_bridge.cli.serve.broker import broker
from jvm_bridge.cli.serve.minion import minion
from jvm_bridge.cli.serve.server import server

__all__ = ["serve"]


@click.group()
def serve() -> None:
    """Host a Pinot role in this process, with Python hooks."""


serve.add_command(broker)
serve.add_command(minion)
serve.add_command(server)
