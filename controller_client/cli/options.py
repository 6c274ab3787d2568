"""Options that several commands share, and the question before something is destroyed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from controller_client.cli.context import CliContext
from controller_client.cli.output import OutputFormat
from controller_client.common.visible_text import visible
from controller_client.errors import ConfigError

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
    """Decorator that adds ``--output``; it sets the format of the run's Output, no parameter of the command.

    Args:
        formats: The formats to choose from; table and JSON by default.
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
        help="How to write the result.",
    )


def html_option(help_text: str) -> Callable[[_Command], _Command]:
    """Decorator that adds ``--html``: parameter ``html``, a path or None."""
    return click.option(
        "--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help=help_text
    )


def dry_run_option(command: _Command) -> _Command:
    """Decorator that adds ``--dry-run``: parameter ``dry_run``."""
    return click.option("--dry-run", is_flag=True, help="Report what would be done, without doing it.")(
        command
    )


def yes_option(command: _Command) -> _Command:
    """Decorator that adds ``--yes``: parameter ``yes``, to be handed to :func:`confirm`."""
    return click.option("--yes", is_flag=True, help="Do not ask.")(command)


def timeout_option(what: str, timeout_s: float = 300.0) -> Callable[[_Command], _Command]:
    """Decorator that adds ``--timeout``: parameter ``timeout_s``.

    Args:
        what: What the seconds are for, as the help has it.
        timeout_s: Seconds by default.
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
        what: What is waited for, as the help has it behind "Wait until".
        timeout_s: Seconds to wait by default.
    """

    def add(command: _Command) -> _Command:
        timeout = timeout_option("Seconds to wait.", timeout_s)
        wait = click.option("--wait/--no-wait", default=True, show_default=True, help=f"Wait until {what}.")
        return wait(timeout(command))

    return add


def session_timeout_option(command: _Command) -> _Command:
    """Decorator that adds ``--session-timeout`` to what runs as one of several: ``session_timeout_s``."""
    return click.option(
        "--session-timeout",
        "session_timeout_s",
        type=click.FloatRange(min=2, max=40),
        default=6.0,
        show_default=True,
        help="Seconds without a sign of life after which ZooKeeper ends this process' session, and the one"
        " that stands by takes over. ZooKeeper keeps it between 2 and 20 of its ticks (of 2 s by default).",
    )(command)


def spark_options(command: _Command) -> _Command:
    """Decorator that adds what the engine ``spark`` needs: ``spark_master``, ``spark_settings``."""
    master = click.option(
        "--spark-master",
        metavar="URL",
        help="Engine spark: where Spark runs, e.g. spark://host:7077 or local[4]; without it as spark-submit"
        " or spark-defaults.conf says, else on this machine.",
    )
    conf = click.option(
        "--spark-conf",
        "spark_settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Engine spark: one setting of Spark, e.g. spark.executor.instances=4.",
    )
    return master(conf(command))


def spark_conf(master: str | None, settings: tuple[str, ...]) -> Mapping[str, str]:
    """Read the values of `spark_options`.

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
    """Ask before something is destroyed; returns when the user agreed and ends the command with 1 otherwise.

    Raises:
        ConfigError: There is nobody to ask (stdin is at its end).
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
            f"{question} The standard input is not a terminal, so nobody can be asked", remedy="pass --yes"
        ) from abort
    if not agreed:
        click.echo("Nothing was done.", err=True)
        raise click.exceptions.Exit(1)
