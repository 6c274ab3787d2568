"""Copies of segments in the deep store and on servers: audit, repair, watch; what may be stopped."""

from __future__ import annotations

import click

from server_hooks.cli.deepstore.audit import audit
from server_hooks.cli.deepstore.enable import enable
from server_hooks.cli.deepstore.repair import repair
from server_hooks.cli.deepstore.safe_to_stop import safe_to_stop
from server_hooks.cli.deepstore.watch import watch

__all__ = ["deepstore"]


@click.group(help=__doc__)
def deepstore() -> None:  # noqa: D103  # help is the module's docstring
    pass


for _command in (audit, enable, repair, safe_to_stop, watch):
    deepstore.add_command(_command)
