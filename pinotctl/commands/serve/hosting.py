"""The commands that host a stock role."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from controller_client.errors import PinotPluginError, SetupError
from controller_client.monitoring import Monitoring
from jvm_bridge.jars import pinot_jars
from jvm_bridge.role_host import HostedRole, RoleKind, java_options, load_hooks
from pinotctl.commands.jar_progress import jar_progress
from pinotctl.context import CliContext, pass_cli
from pinotctl.monitoring import role_monitoring_options, serving

__all__ = ["hosting_command"]

logger = logging.getLogger(__name__)

_PINOT_HELP = frozenset({"-help", "-h", "--h"})

# No -h option: click would find it inside of Pinot's own options, e.g. in -path.
_SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


def hosting_command(kind: RoleKind, *, help: str) -> click.Command:  # noqa: A002 - click's name of it
    """Create the command that hosts a role.

    Args:
        kind: The role.
        help: The command's help.
    """

    @click.command(kind.name, help=help, context_settings=_SETTINGS)
    @click.option(
        "--hook", "hooks", multiple=True, metavar="NAME", help="Run only this hook; can be repeated."
    )
    @click.option("--no-hooks", is_flag=True, help=f"Run no hooks, like a stock {kind.name}.")
    @role_monitoring_options
    @click.argument(
        "arguments",
        nargs=-1,
        type=click.UNPROCESSED,
        metavar=f"[START{kind.name.upper()} ARGUMENTS]...",
    )
    @pass_cli
    def command(
        cli: CliContext,
        hooks: tuple[str, ...],
        no_hooks: bool,
        metrics_port: int,
        metrics_host: str,
        arguments: tuple[str, ...],
    ) -> None:
        monitoring = Monitoring(kind.name)
        with serving(cli.out, monitoring, metrics_host, metrics_port):
            _host(cli, kind, hooks, no_hooks, monitoring, arguments)

    return command


def _host(
    cli: CliContext,
    kind: RoleKind,
    hooks: tuple[str, ...],
    no_hooks: bool,
    monitoring: Monitoring,
    arguments: tuple[str, ...],
) -> None:
    """Run a role until it ends; then the process ends too."""
    if _PINOT_HELP & set(arguments):
        click.echo(click.get_current_context().get_help())
        return
    if no_hooks and hooks:
        raise click.UsageError("--hook and --no-hooks cannot be combined")
    factories = {} if no_hooks else load_hooks(kind.hook_group, hooks or None)
    unknown = set(hooks) - set(factories)
    if unknown:
        available = ", ".join(sorted(load_hooks(kind.hook_group))) or "none"
        raise click.UsageError(f"unknown hook: {', '.join(sorted(unknown))}; available: {available}")
    level = {0: "info", 1: "info"}.get(cli.verbose, "debug")
    with jar_progress(cli.out) as progress:
        pinot_jars(progress)
    role = HostedRole(kind, arguments, java_options(os.environ, level), factories, monitoring)
    with _ended_by_java(cli):
        role.prepare()
        cli.out.note(f"{role.instance_id} joins the cluster; stop it with Ctrl-C")
        role.start()
        cli.out.note(f"{role.instance_id} accepts queries")
        role.wait()


@contextmanager
def _ended_by_java(cli: CliContext) -> Iterator[None]:
    """End the process with ``System.exit`` after an error: Python's exit would wait for Java's threads."""
    try:
        yield
    except Exception as error:
        import jpype

        if not jpype.isJVMStarted():
            raise
        from jvm_bridge.shutdown import exit_process

        # After a Java exception the log has its stack trace, as that of a stock server.
        logger.error("%s", error, exc_info=error.__cause__ if isinstance(error, SetupError) else None)
        cli.out.note(f"Error: {error}")
        exit_process(error.exit_code if isinstance(error, PinotPluginError) else 1)
