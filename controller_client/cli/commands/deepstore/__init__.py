"""Audit, repair and watch the copies of segments in the deep store and on servers."""

from __future__ import annotations

import click

from controller_client.cli.commands.deepstore.audit import audit
from controller_client.cli.commands.deepstore.disable import disable
from controller_client.cli.commands.deepstore.enable import enable
from controller_client.cli.commands.deepstore.repair import repair
from controller_client.cli.commands.deepstore.safe_to_stop import safe_to_stop
from controller_client.cli.commands.deepstore.sweep import sweep
from controller_client.cli.commands.deepstore.watch import watch

__all__ = ["deepstore"]


@click.group(help=__doc__)
def deepstore() -> None:  # noqa: D103  # help is the module's docstring
    pass


for _command in (audit, disable, enable, repair, safe_to_stop, sweep, watch):
    deepstore.add_command(_command)
