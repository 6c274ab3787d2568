"""Copy the schema and the config of a table to another cluster."""

from __future__ import annotations

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import dry_run_option, output_option

__all__ = ["copy"]


@click.command()
@table_argument()
@click.option(
    "--to-controller",
    metavar="URL",
    help="URL of the other cluster's controller, which is spoken to without credentials.",
)
@click.option(
    "--to-profile", metavar="NAME", help="Profile with address and credentials of the other cluster."
)
@click.option(
    "--skip-task-validation",
    is_flag=True,
    help="Do not ask the other controller about task types: it knows none of those that Python minions run.",
)
@dry_run_option
@output_option()
@pass_cli
def copy(
    cli: CliContext,
    table_name: str,
    to_controller: str | None,
    to_profile: str | None,
    skip_task_validation: bool,
    dry_run: bool,
) -> None:
    """Make a table with the same schema and config in another cluster; its data are not copied.

    Refused where the other cluster has such a table, or another schema of that name. The config goes as it
    is, with the secrets in it, whose places are named; this cluster's own credentials go nowhere else.
    """
    from controller_client.client import ControllerClient
    from controller_client.rest.table_copy import plan_copy

    if (to_controller is None) == (to_profile is None):
        raise click.UsageError("name the other cluster by --to-controller or by --to-profile")
    source = cli.client()
    table = table_with_type(source, table_name)
    with ControllerClient(cli.other_controller_config(to_controller, to_profile)) as target:
        plan = plan_copy(source, target, table)
        schema = "new" if plan.makes_schema else "there already"
        record = {
            "table": table,
            "schema": plan.schema_name,
            "creates_schema": plan.makes_schema,
            "secret_settings": list(plan.secret_settings),
            "from_controller": source.config.url,
            "to_controller": target.config.url,
            "changed": not dry_run,
            "dry_run": dry_run,
        }
        if plan.secret_settings:
            cli.out.note(f"The config holds secrets, in {', '.join(plan.secret_settings)}.")
        said = f"{table} {{}} at {target.config.url}, with the schema {plan.schema_name} ({schema})."
        if dry_run:
            cli.out.result(said.format("would be made"), record)
            return
        plan.run(target, skip_task_validation=skip_task_validation)
        cli.out.result(said.format("is made"), record)
