"""Print alerts for Prometheus and the list of all metrics; write dashboards for Grafana."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import output_option

__all__ = ["monitoring"]

_COLUMNS = ("name", "type", "labels", "unit", "processes", "meaning")


@click.group(help=__doc__, cls=CommandGroup)
def monitoring() -> None:  # noqa: D103  # help is the module's docstring
    pass


@monitoring.command()
@pass_cli
def rules(cli: CliContext) -> None:
    """Print the alerting rules, as a file for `rule_files` of Prometheus."""
    from controller_client.monitoring.rules import rules_text

    cli.out.document(rules_text())


@monitoring.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@output_option()
@pass_cli
def dashboards(cli: CliContext, folder: Path) -> None:
    """Write the Grafana dashboards into an existing folder, one file each; existing files are replaced."""
    from controller_client.monitoring.dashboards import DASHBOARDS, dashboard_json

    rows = []
    for each in DASHBOARDS:
        path = folder / f"{each.uid}.json"
        path.write_text(json.dumps(dashboard_json(each), indent=2) + "\n", encoding="utf-8")
        rows.append((str(path), each.title, len(each.panels)))
    cli.out.table(("file", "title", "panels"), rows)


@monitoring.command()
@output_option()
@pass_cli
def metrics(cli: CliContext) -> None:
    """List all metrics with types, labels, units, and the processes that publish them."""
    from controller_client.monitoring.catalogue import all_metrics

    cli.out.table(
        _COLUMNS,
        [
            (
                metric.name,
                str(metric.kind),
                ", ".join(metric.labels),
                metric.unit,
                ", ".join(metric.processes),
                metric.meaning,
            )
            for metric in all_metrics()
        ],
    )
