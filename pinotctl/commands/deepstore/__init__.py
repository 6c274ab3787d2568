"""Audit, repair and watch the copies of segments in the deep store and on servers."""

from __future__ import annotations

import click

from pinotctl.commands.deepstore.audit import audit
from pinotctl.commands.deepstore.disable import disable
from pinotctl.commands.deepstore.enable import enable
from pinotctl.commands.deepstore.repair import repair
from pinotctl.commands.deepstore.safe_to_stop import safe_to_stop
from pinotctl.commands.deepstore.sweep import sweep
from pinotctl.commands.deepstore.watch import watch
from pinotctl.lazy import CommandGroup

__all__ = ["deepstore"]


@click.group(help=__doc__, cls=CommandGroup)
def deepstore() -> None:  # noqa: D103  # help is the module's docstring
    pass


for _command in (audit, disable, enable, repair, safe_to_stop, sweep, watch):
    deepstore.add_command(_command)
