"""``pinotctl deepstore repair``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import (
    confirm,
    dry_run_option,
    output_option,
    spark_conf,
    spark_options,
    yes_option,
)
from controller_client.deepstore import Judgement, SegmentFetcher, ServerAdmins, StoreLayout
from controller_client.parallel import open_parallel_engine
from server_hooks.cli.deepstore.options import audit_options, auditor, repair_options, run_audit
from server_hooks.deepstore import Outcome, Repaired, Repairer, RepairPart, repair_all

__all__ = ["repair"]

_COLUMNS = ("table", "segment", "outcome", "source", "url", "size_bytes", "passed_over", "message")
_WELL = {Outcome.REPAIRED, Outcome.WOULD_REPAIR, Outcome.GOOD, Outcome.GONE}


@click.command()
@click.argument("table_names", metavar="[TABLE]...", nargs=-1)
@audit_options
@repair_options
@click.option(
    "--engine",
    "engine_name",
    metavar="NAME",
    help="Where the copies are made: 'spark' makes them on Spark's executors, for thousands of segments;"
    " default: in this process. The store's credentials are each machine's, as boto3 finds them.",
)
@spark_options
@dry_run_option
@yes_option
@output_option()
@pass_cli
def repair(
    cli: CliContext,
    table_names: tuple[str, ...],
    store_uri: str | None,
    min_copies: int,
    read_tars: bool,
    rate: float,
    parallel: int,
    work_dir: Path | None,
    engine_name: str | None,
    spark_master: str | None,
    spark_settings: tuple[str, ...],
    dry_run: bool,
    yes: bool,
) -> None:
    """Give segments a good copy in the deep store (of all tables, unless some are named).

    Each is fetched from a server whose copy has the check sum of the metadata, uploaded to where Pinot keeps
    it, and then its url is written. It may be killed and run again, and run twice at once. Exit code 1 when a
    segment could not be repaired.
    """
    settings = spark_conf(spark_master, spark_settings)
    looking = auditor(cli, store_uri, min_copies=min_copies, read_tars=read_tars, rate=rate)
    with looking as (looker, servers):
        report = run_audit(cli, looker, table_names)
        cli.out.note(report.summary())
        faulty = [each for each in report.faulty if each.repairable]
        if faulty and not dry_run:
            confirm(f"Upload {len(faulty)} segments to {looker.layout.root}?", yes=yes)
        if engine_name is None or dry_run or not faulty:
            done = _here(cli, looker.layout, servers, faulty, parallel, work_dir, dry_run=dry_run)
        else:
            store = cli.property_store()
            part = RepairPart(
                cli.client().config,
                store.zookeeper_address,
                store.cluster_name,
                looker.layout,
                rate,
                parallel,
                work_dir,
            )
            with closing(open_parallel_engine(engine_name, settings)) as engine:
                done = engine.run(part, faulty, f"repair of {len(faulty)} segments")
    done.sort(key=lambda each: (each.table, each.segment))
    cli.out.table(_COLUMNS, [_row(each) for each in done])
    counts = Counter(each.outcome for each in done)
    cli.out.note(
        ", ".join(f"{count} {outcome.words}" for outcome, count in sorted(counts.items())) or "Nothing to do."
    )
    if counts.keys() - _WELL:
        raise click.exceptions.Exit(1)


def _here(
    cli: CliContext,
    layout: StoreLayout,
    servers: ServerAdmins,
    faulty: Sequence[Judgement],
    parallel: int,
    work_dir: Path | None,
    *,
    dry_run: bool,
) -> list[Repaired]:
    """Repair in threads of this process."""
    done: list[Repaired] = []
    fetcher = SegmentFetcher(cli.client(), layout, servers)
    with (
        tempfile.TemporaryDirectory(dir=work_dir) as folder,
        cli.out.progress("Repairing", total=len(faulty), unit="segments") as progress,
    ):
        repairer = Repairer(cli.property_store(), layout, fetcher, Path(folder))
        for each in repair_all(repairer, faulty, parallel=parallel, dry_run=dry_run):
            done.append(each)
            progress.advance()
    return done


def _row(each: Repaired) -> tuple[object, ...]:
    return (
        each.table,
        each.segment,
        each.outcome.value,
        each.source,
        each.url,
        each.size_bytes,
        "; ".join(map(str, each.refused)),
        each.message,
    )
