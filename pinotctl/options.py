"""Options that several commands share, and the confirmation before something is destroyed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from controller_client.common.text import visible
from controller_client.errors import ConfigError
from pinotctl.context import CliContext
from pinotctl.output import OutputFormat

__all__ = [
    "confirm",
    "dry_run_option",
    "html_option",
    "output_option",
    "session_timeout_option",
    "spark_conf",
    "spark_options",
    "timeout_option",
    "wait_options",
    "yes_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def output_option(*formats: OutputFormat) -> Callable[[_Command], _Command]:
    """Decorator that adds ``--output``, which sets the format of the run's Output.

    The command's function gets no parameter for it.

    Args:
        formats: The formats to choose from; default: table and JSON.
    """

    def chosen(ctx: click.Context, _parameter: click.Parameter, value: str) -> None:
        ctx.ensure_object(CliContext).out.format = OutputFormat(value)

    return click.option(
        "--output",
        type=click.Choice([str(choice) for choice in formats or (OutputFormat.TABLE, OutputFormat.JSON)]),
        default=str(OutputFormat.TABLE),
        show_default=True,
        expose_value=False,
        is_eager=True,
        callback=chosen,
        help="Format of the result.",
    )


def html_option(help_text: str) -> Callable[[_Command], _Command]:
    """Decorator that adds ``--html``: parameter ``html``, a path or None."""
    return click.option(
        "--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help=help_text
    )


def dry_run_option(command: _Command) -> _Command:
    """Decorator that adds ``--dry-run``: parameter ``dry_run``."""
    return click.option("--dry-run", is_flag=True, help="Show what would be done, without doing it.")(command)


def yes_option(command: _Command) -> _Command:
    """Decorator that adds ``--yes``: parameter ``yes``, to be passed to :func:`confirm`."""
    return click.option("--yes", is_flag=True, help="Do not ask for confirmation.")(command)


def timeout_option(what: str, timeout_s: float = 300.0) -> Callable[[_Command], _Command]:
    """Decorator that adds ``--timeout``: parameter ``timeout_s``.

    Args:
        what: What the seconds are for: the help text.
        timeout_s: The default, in seconds.
    """
    return click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0),
        default=timeout_s,
        show_default=True,
        help=what,
    )


def wait_options(what: str, timeout_s: float = 300.0) -> Callable[[_Command], _Command]:
    """Decorator that adds ``--wait/--no-wait`` and ``--timeout``: parameters ``wait``, ``timeout_s``.

    Args:
        what: What to wait for; the help text puts it after "Wait until".
        timeout_s: The default, in seconds.
    """

    def add(command: _Command) -> _Command:
        timeout = timeout_option("Seconds to wait.", timeout_s)
        wait = click.option("--wait/--no-wait", default=True, show_default=True, help=f"Wait until {what}.")
        return wait(timeout(command))

    return add


def session_timeout_option(command: _Command) -> _Command:
    """Decorator that adds ``--session-timeout``, for processes with a standby: ``session_timeout_s``."""
    return click.option(
        "--session-timeout",
        "session_timeout_s",
        type=click.FloatRange(min=2, max=40),
        default=6.0,
        show_default=True,
        help="Seconds without a heartbeat after which ZooKeeper ends this process' session and a standby"
        " takes over. ZooKeeper limits it to between 2 and 20 of its ticks, which usually take 2 s.",
    )(command)


def spark_options(command: _Command) -> _Command:
    """Decorator that adds what the engine ``spark`` needs: ``spark_master``, ``spark_settings``."""
    master = click.option(
        "--spark-master",
        metavar="URL",
        show_default="as spark-submit or spark-defaults.conf sets it, else this machine",
        help="Engine spark: where Spark runs, e.g. spark://host:7077 or local[4].",
    )
    conf = click.option(
        "--spark-conf",
        "spark_settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Engine spark: a Spark setting, e.g. spark.executor.instances=4. Repeatable.",
    )
    return master(conf(command))


def spark_conf(master: str | None, settings: tuple[str, ...]) -> Mapping[str, str]:
    """Return the Spark settings that the options of :func:`spark_options` give.

    Raises:
        ConfigError: A setting is not ``KEY=VALUE``.
    """
    conf = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.startswith("spark."):
            # The value may be a secret.
            raise ConfigError(f"--spark-conf {key!r} is not KEY=VALUE", expected="spark.…=value")
        conf[key] = value
    return conf if master is None else {**conf, "spark.master": master}


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is destroyed: return if the user agrees, else end the command with exit code 1.

    Raises:
        ConfigError: Nobody can be asked (stdin is at its end).
    """
    if yes:
        return
    try:
        agreed = click.confirm(visible(question), err=True)
    except click.Abort as abort:
        if not isinstance(abort.__context__, EOFError):
            raise
        click.echo(err=True)
        raise ConfigError(
            f"{question} Standard input is not a terminal, so nobody can answer", remedy="pass --yes"
        ) from abort
    if not agreed:
        click.echo("Nothing was done.", err=True)
        raise click.exceptions.Exit(1)
