"""``pinotctl serve broker``: run Pinot's broker with Python hooks, in the place of the stock one."""

from __future__ import annotations

import click

from controller_client.cli.context import CliContext, pass_cli
from jvm_bridge.cli.serve.hosting import HOSTED_COMMAND, host
from jvm_bridge.role_host import BROKER

__all__ = ["broker"]


@click.command(context_settings=HOSTED_COMMAND)
@click.option("--hook", "hooks", multiple=True, metavar="NAME", help="Only this hook; may be given again.")
@click.option("--no-hooks", is_flag=True, help="No hook at all: a stock broker.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[STARTBROKER ARGUMENTS]...")
@pass_cli
def broker(cli: CliContext, hooks: tuple[str, ...], no_hooks: bool, arguments: tuple[str, ...]) -> None:
    """Run Pinot's broker with Python hooks, in the place of `pinot-admin.sh StartBroker`.

    It takes the same arguments (e.g. -configFileName broker.conf -zkAddress localhost:2181), JAVA_OPTS and
    configuration; it logs, answers and ends as the stock broker does. Signals are the JVM's: after
    SIGTERM the exit code is 143, after Ctrl-C 130. Where a hook cannot start, the broker does not: its
    answers would be wrong.
    """
    host(cli, BROKER, hooks, no_hooks, arguments)
