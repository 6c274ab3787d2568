"""``pinotctl deepstore audit``."""

from __future__ import annotations

from pathlib import Path

import click

from controller_client.common.new_file import write_page
from controller_client.deepstore.report import COLUMNS
from controller_client.segment_tar import TarLimits
from pinotctl.commands.deepstore.options import audit_options, auditor, named_tables, run_audit
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import html_option, output_option

__all__ = ["audit"]


@click.command()
@table_argument("table_names", metavar="[TABLE]...", nargs=-1)
@audit_options
@html_option("Also write the report as an HTML page to this file.")
@output_option()
@pass_cli
def audit(
    cli: CliContext,
    table_names: tuple[str, ...],
    store_uri: str | None,
    min_copies: int,
    read_tars: bool,
    rate: float,
    limits: TarLimits,
    html: Path | None,
) -> None:
    """Find committed segments with too few good copies (in all tables, unless some are named).

    Nothing is changed. The exit code is 1 if something is found, a server did not report its segments, or a
    table could not be audited, so that you can run it as a check.
    """
    opened_auditor = auditor(
        cli, store_uri, min_copies=min_copies, read_tars=read_tars, rate=rate, limits=limits
    )
    with opened_auditor as (segment_auditor, _):
        report = run_audit(cli, segment_auditor, named_tables(cli, table_names))
    if html is not None:
        write_page(html, report.page(cli.console()))
    if cli.out.is_json:
        cli.out.json(report.to_json())
    else:
        cli.out.table(COLUMNS, report.rows())
    for each in report.tables:
        for server, why in each.silent:
            cli.out.note(f"{server} did not report its checksums for {each.table}: {why}")
    for failure in report.failed:
        cli.out.note(f"{failure.table} was not audited: {failure.message}")
    for step in report.next_steps():
        cli.out.note("\n  ".join([step.text, *step.commands]))
    cli.out.note(f"{report.summary()} The audit took {report.took_s:.1f} s.")
    if not report.is_clean:
        raise click.exceptions.Exit(1)
