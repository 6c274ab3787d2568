"""Show which processes hold the cluster's leases and locks, and which ones stand by."""

from __future__ import annotations

from typing import Any

import click

from controller_client.common.text import utc_text
from controller_client.zookeeper import Standing, read_standing
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import output_option

__all__ = ["leases"]

_COLUMNS = ("kind", "name", "state", "owner", "host", "pid", "since", "number")


@click.group(help=__doc__, cls=CommandGroup)
def leases() -> None:  # noqa: D103  # help is the module's docstring
    pass


@leases.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the holder of each lease and lock, and the standbys of each lease in the order of succession.

    Schedulers and deep-store watches use a lease. The key coordinator of an upsert table, a run of a task and
    an apply use a lock. A standby coordinator is not listed: it polls the lock twice a second.
    """
    found = read_standing(cli.property_store())
    cli.out.table(_COLUMNS, [_row(each) for each in found])


def _row(standing: Standing) -> tuple[Any, ...]:
    holder = standing.holder
    if holder is None:
        return (standing.kind, standing.name, standing.state, None, None, None, None, standing.number)
    since = utc_text(holder.since_epoch_s * 1000, "T")
    return (
        *(standing.kind, standing.name, standing.state),
        *(holder.owner, holder.host, holder.pid, since, standing.number),
    )
