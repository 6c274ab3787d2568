"""Compare a folder of files with the cluster: show what an apply would do, and what that does to data."""

from __future__ import annotations

from pathlib import Path

import click

from controller_client.as_code import Applier, save_plan
from pinotctl.commands.as_code.options import DIFFERENCES, folder_argument, opened, plan_options
from pinotctl.commands.as_code.plan_view import show_plan
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import output_option

__all__ = ["diff"]


@click.command(help=f"{__doc__}\n\nExit codes: 0 no difference, 4 differences.")
@folder_argument
@plan_options
@click.option(
    "--save",
    "plan_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the plan to a file, to be approved and applied later.",
)
@output_option()
@pass_cli
@click.pass_context
def diff(  # noqa: D103
    ctx: click.Context,
    cli: CliContext,
    folder: Path,
    prune: bool,
    keep_unset: bool,
    secrets_env: tuple[str, ...],
    plan_file: Path | None,
) -> None:
    read, references = opened(folder, secrets_env)
    applier = Applier(
        cli.client(), cli.property_store(), read, references, prune=prune, keep_unset=keep_unset
    )
    plan = applier.plan().plan
    show_plan(cli.out, plan)
    if plan_file is not None:
        save_plan(plan, plan_file)
        cli.out.note(f"Saved the plan to {plan_file}; apply it with: pinotctl apply {plan_file}")
    ctx.exit(DIFFERENCES if plan.has_changes else 0)
