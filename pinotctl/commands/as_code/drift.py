"""Show what was changed in the cluster since the folder was applied, manually or by other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from controller_client.as_code import DriftedObject, find_drift, read_folder
from controller_client.as_code.fields import ABSENT
from controller_client.common.text import counted_text
from pinotctl.commands.as_code.options import DIFFERENCES, folder_argument
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import output_option

__all__ = ["drift"]


@click.command(
    help=f"{__doc__}\n\nThe cluster is compared with what was last applied, not with the files: changes in "
    "files that have not been applied yet do not count. Secrets are not compared. Exit codes: 0 no drift, "
    "4 drift."
)
@folder_argument
@output_option()
@pass_cli
@click.pass_context
def drift(ctx: click.Context, cli: CliContext, folder: Path) -> None:  # noqa: D103
    read = read_folder(folder)
    objects = find_drift(cli.client(), cli.property_store(), read)
    rows = [row for each in objects for row in _rows(each)]
    cli.out.table(("object", "field", "applied", "cluster", "plan"), rows)
    changed = counted_text(len(objects), "object")
    cli.out.note(f"Changed since the last apply by the owner {read.settings.owner}: {changed}.")
    ctx.exit(DIFFERENCES if objects else 0)


def _rows(drifted: DriftedObject) -> list[tuple[str, str | None, str | None, str | None, str]]:
    if drifted.is_gone:
        return [(drifted.ref.key, None, "exists", "deleted", drifted.plan)]
    return [
        (drifted.ref.key, change.path, _value(change.old), _value(change.new), drifted.plan)
        for change in drifted.fields
    ]


def _value(value: Any) -> str | None:
    return None if value is ABSENT else json.dumps(value, ensure_ascii=False)
