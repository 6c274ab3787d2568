"""Show the settings that pinotctl uses.

A flag overrides the environment, and the environment overrides the profile. Profiles are tables in
~/.config/pinotctl.toml (or the file that PINOTCTL_CONFIG names); 'default' is used unless --profile or
PINOT_PROFILE names another:

\b
    [default]
    controller = "http://localhost:9000"

\b
    [production]
    controller = "https://pinot.example.com"
    user = "ingestion"
    password_file = "/run/secrets/pinot"
"""  # noqa: D301  # click wants the control character, not its escape

from __future__ import annotations

import click

from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import output_option

__all__ = ["config"]


@click.group(help=__doc__, cls=CommandGroup)
def config() -> None:  # noqa: D103  # help is the module's docstring
    pass


@config.command()
@output_option()
@pass_cli
def show(cli: CliContext) -> None:
    """Show each setting, its value and where it came from; secrets are masked."""
    rows = [(name, found.shown, found.source) for name, found in cli.settings.items()]
    cli.out.table(("setting", "value", "source"), rows)
