"""``pinotctl deepstore repair``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click

from controller_client.cli.commands.deepstore.options import (
    audit_options,
    auditor,
    named_tables,
    repair_options,
    run_audit,
)
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import (
    confirm,
    dry_run_option,
    output_option,
    spark_conf,
    spark_options,
    yes_option,
)
from controller_client.common.parallel import open_parallel_engine
from controller_client.deepstore.distributed_repair import RepairPart
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import REPAIRABLE, Judgement
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.remote_copies import STORE
from controller_client.deepstore.repair import Outcome, Repaired, Repairer
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.report import AuditReport
from controller_client.rest.capabilities import Capability
from controller_client.segment_tar import TarLimits

__all__ = ["repair"]

_COLUMNS = ("table", "segment", "outcome", "source", "proof", "url", "size_bytes", "passed_over", "message")
_DAMAGE = (
    "Where files have another crc and no reload explains it, that server's disk may be damaged: let it load "
    "the segment from the store again (`pinotctl table reload --download TABLE SEGMENT`; before Pinot 1.5, "
    "of a REALTIME table, delete the segment's folder on that server while it is stopped)."
)
_WELL = {Outcome.REPAIRED, Outcome.WOULD_REPAIR, Outcome.GOOD, Outcome.GONE}


@click.command()
@table_argument("table_names", metavar="[TABLE]...", nargs=-1)
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
    limits: TarLimits,
    accept_agreeing: bool,
    engine_name: str | None,
    spark_master: str | None,
    spark_settings: tuple[str, ...],
    dry_run: bool,
    yes: bool,
) -> None:
    """Give segments a good copy in the deep store (of all tables, unless some are named).

    Each is fetched from a server whose copy is proven to be the segment, by the metadata's check sum over
    its content, uploaded to where Pinot keeps it, and then its url is written. It may be killed and run
    again, and run twice at once. Exit code 1 when a segment could not be repaired, or a table could not be
    inspected.
    """
    settings = spark_conf(spark_master, spark_settings)
    looking = auditor(cli, store_uri, min_copies=min_copies, read_tars=read_tars, rate=rate, limits=limits)
    with looking as (looker, servers):
        report = run_audit(cli, looker, named_tables(cli, table_names))
        cli.out.note(report.summary())
        faulty = [each for each in report.faulty if each.repairable]
        if faulty and not dry_run:
            confirm(f"Upload {len(faulty)} segments to {looker.layout.root}?", yes=yes)
        if engine_name is None or dry_run or not faulty:
            fetcher = SegmentFetcher(cli.client(), servers, limits=limits, accept_agreeing=accept_agreeing)
            done = _here(cli, looker.layout, fetcher, faulty, parallel, work_dir, dry_run=dry_run)
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
                limits,
                accept_agreeing,
                store.access,
            )
            with closing(open_parallel_engine(engine_name, settings)) as engine:
                done = engine.run(part, faulty, f"repair of {len(faulty)} segments")
    done.sort(key=lambda each: (each.table, each.segment))
    cli.out.table(_COLUMNS, [_row(each) for each in done])
    for text in _left_over(report, done):
        cli.out.note(text)
    counts = Counter(each.outcome for each in done)
    cli.out.note(
        ", ".join(f"{count} {outcome.words}" for outcome, count in sorted(counts.items())) or "Nothing to do."
    )
    for failure in report.failed:
        cli.out.note(f"{failure.table} was not inspected: {failure.message}")
    if counts.keys() - _WELL or report.failed:
        raise click.exceptions.Exit(1)


def _here(
    cli: CliContext,
    layout: StoreLayout,
    fetcher: SegmentFetcher,
    faulty: Sequence[Judgement],
    parallel: int,
    work_dir: Path | None,
    *,
    dry_run: bool,
) -> list[Repaired]:
    """Repair in threads of this process."""
    done: list[Repaired] = []
    folder_sizes = cli.client().cluster.capabilities().has(Capability.FOLDER_SIZES)
    with (
        tempfile.TemporaryDirectory(dir=work_dir) as folder,
        cli.out.progress("Repairing", total=len(faulty), unit="segments") as progress,
    ):
        repairer = Repairer(cli.property_store(), layout, fetcher, Path(folder), folder_sizes=folder_sizes)
        for each in repair_all(repairer, faulty, parallel=parallel, dry_run=dry_run):
            done.append(each)
            progress.advance()
    return done


def _left_over(report: AuditReport, done: Sequence[Repaired]) -> Iterator[str]:
    """Explain what a copy in the store does not fix."""
    for step in report.next_steps():
        found = step.faults & report.counts().keys()
        if found and not step.faults & REPAIRABLE:
            named = ", ".join(sorted(fault.words for fault in found))
            yield "\n  ".join([f"Not repaired by this command: {named}. {step.text}", *step.commands])
    passed_over = {place.place for each in done for place in each.refused} - {STORE}
    if passed_over:
        yield f"Copies of {', '.join(sorted(passed_over))} were passed over: see passed_over. {_DAMAGE}"


def _row(each: Repaired) -> tuple[object, ...]:
    return (
        each.table,
        each.segment,
        each.outcome.value,
        each.source,
        each.proof.value if each.proof else None,
        each.url,
        each.size_bytes,
        "; ".join(map(str, each.refused)),
        each.message,
    )
