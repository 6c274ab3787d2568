"""Copy a table's schema and config to another cluster."""

from __future__ import annotations

import click

from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import dry_run_option, output_option

__all__ = ["copy"]


@click.command()
@table_argument()
@click.option(
    "--to-controller",
    metavar="URL",
    help="URL of the other cluster's controller; no credentials are sent to it.",
)
@click.option(
    "--to-profile", metavar="NAME", help="Profile with the other cluster's address and credentials."
)
@click.option(
    "--skip-task-validation",
    is_flag=True,
    help="Do not have the other controller validate task types; it does not know those that Python minions"
    " run.",
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
    """Create a table with the same schema and config in another cluster; data is not copied.

    Refused if the other cluster has the table, or a different schema of that name. The config is copied
    unchanged, including the secrets in it; the output lists the settings that contain secrets. This cluster's
    own credentials are not sent to the other one.
    """
    from controller_client.client import ControllerClient
    from controller_client.rest.table_copy import plan_copy

    if (to_controller is None) == (to_profile is None):
        raise click.UsageError("name the other cluster with either --to-controller or --to-profile")
    source = cli.client()
    table = table_with_type(source, table_name)
    with ControllerClient(cli.other_controller_config(to_controller, to_profile)) as target:
        plan = plan_copy(source, target, table)
        schema = "new" if plan.makes_schema else "already there"
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
            cli.out.note(f"The config contains secrets in: {', '.join(plan.secret_settings)}.")
        what = f"{table} at {target.config.url}, with the schema {plan.schema_name} ({schema})"
        if dry_run:
            cli.out.result(f"Would create {what}.", record)
            return
        plan.run(target, skip_task_validation=skip_task_validation)
        cli.out.result(f"Created {what}.", record)
