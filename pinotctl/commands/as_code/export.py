"""Export the cluster to a folder of files: one file for each object, secrets as references."""

from __future__ import annotations

from pathlib import Path

import click

from controller_client.as_code import export_cluster
from controller_client.common.text import counted_text
from pinotctl.commands.as_code.options import folder_argument
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import output_option

__all__ = ["export"]


@click.command(help=__doc__)
@folder_argument
@click.option("--owner", help="Name of the team that will apply the folder, for a new cluster.yaml.")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Only this table and its schema. Repeatable."
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON files instead of YAML.")
@output_option()
@pass_cli
def export(cli: CliContext, folder: Path, owner: str | None, tables: tuple[str, ...], as_json: bool) -> None:  # noqa: D103
    report = export_cluster(cli.client(), folder, owner=owner, tables=tables, as_json=as_json)
    variables = {name: ref.key for name, ref in report.variables.items()}
    written = [str(path) for path in report.written]
    if not cli.out.is_json:
        for name in written:
            cli.out.line(name)
        for name, key in variables.items():
            cli.out.note(f"{key} refers to the environment variable {name}: set it before diff or apply.")
    unfinished = [ref.key for ref in report.unfinished]
    for key in unfinished:
        cli.out.note(
            f"{key} is in an unfinished change of its stream: finish it with 'pinotctl consumption"
            " change-stream', then export again. Its old secrets are not exported."
        )
    files = counted_text(len(written), "file")
    cli.out.result(
        f"{folder} contains {counted_text(report.objects, 'object')}; wrote {files}.",
        {
            "folder": str(folder),
            "objects": report.objects,
            "written": written,
            "variables": variables,
            "unfinished": unfinished,
        },
    )
