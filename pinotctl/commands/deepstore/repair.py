"""``pinotctl deepstore repair``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click

from controller_client.common.folders import scratch_folder
from controller_client.common.parallel import open_parallel_engine
from controller_client.common.text import counted_text
from controller_client.deepstore.distributed_repair import RepairPart
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import REPAIRABLE, Judgement
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.remote_copies import STORE
from controller_client.deepstore.repair import Repaired, Repairer, RepairOutcome
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.report import AuditReport
from controller_client.rest.capabilities import Capability
from controller_client.segment_tar import TarLimits
from pinotctl.commands.deepstore.options import (
    audit_options,
    auditor,
    check_owner,
    named_tables,
    repair_options,
    run_audit,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import (
    confirm,
    dry_run_option,
    output_option,
    spark_conf,
    spark_options,
    yes_option,
)

__all__ = ["repair"]

_COLUMNS = ("table", "segment", "outcome", "source", "proof", "url", "size_bytes", "passed_over", "message")
_DAMAGE = (
    "If files have another crc and no reload explains it, that server's disk may be damaged. Have it "
    "download the segment from the store again (`pinotctl table reload --download TABLE SEGMENT`; for a "
    "REALTIME table before Pinot 1.5, delete the segment's folder on that server while it is stopped)."
)
_WELL = {RepairOutcome.REPAIRED, RepairOutcome.WOULD_REPAIR, RepairOutcome.GOOD, RepairOutcome.GONE}


@click.command()
@table_argument("table_names", metavar="[TABLE]...", nargs=-1)
@audit_options
@repair_options
@click.option(
    "--engine",
    "engine_name",
    metavar="NAME",
    show_default="PINOT_PLUGINS_ENGINE or this process",
    help="Where to make the copies: 'spark' uses Spark's executors, for thousands of segments. Each machine"
    " uses the store credentials that boto3 finds there.",
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
    """Copy segments that lack a good copy in the deep store to it (of all tables, unless some are named).

    Each segment is downloaded from a server and verified against the checksum in its metadata. It is then
    uploaded to where Pinot stores it, and finally its URL is written. The command can be killed and run
    again, and several can run at once. The exit code is 1 if a segment could not be repaired or a table could
    not be audited.
    """
    settings = spark_conf(spark_master, spark_settings)
    engine_name = engine_name or cli.default_engine()
    opened = auditor(cli, store_uri, min_copies=min_copies, read_tars=read_tars, rate=rate, limits=limits)
    with opened as (segment_auditor, servers):
        layout = segment_auditor.layout
        report = run_audit(cli, segment_auditor, named_tables(cli, table_names))
        cli.out.note(report.summary())
        faulty = [judgement for judgement in report.faulty if judgement.repairable]
        if faulty and not dry_run:
            check_owner(cli, layout)
            confirm(f"Upload {counted_text(len(faulty), 'segment')} to {layout.root}?", yes=yes)
        if engine_name is None or dry_run or not faulty:
            fetcher = SegmentFetcher(cli.client(), servers, limits=limits, accept_agreeing=accept_agreeing)
            done = _repair_here(cli, layout, fetcher, faulty, parallel, work_dir, dry_run=dry_run)
        else:
            store = cli.property_store()
            part = RepairPart(
                cli.client().config,
                store.zookeeper_address,
                store.cluster_name,
                layout,
                rate,
                parallel,
                work_dir,
                limits,
                accept_agreeing,
                store.access,
            )
            with closing(open_parallel_engine(engine_name, settings)) as engine:
                done = engine.run(part, faulty, f"repair of {counted_text(len(faulty), 'segment')}")
    done.sort(key=lambda repaired: (repaired.table, repaired.segment))
    cli.out.table(_COLUMNS, [_row(repaired) for repaired in done])
    for text in _left_over(report, done):
        cli.out.note(text)
    counts = Counter(repaired.outcome for repaired in done)
    cli.out.note(
        ", ".join(f"{count} {outcome.words}" for outcome, count in sorted(counts.items())) or "Nothing to do."
    )
    for failure in report.failed:
        cli.out.note(f"{failure.table} was not audited: {failure.message}")
    if counts.keys() - _WELL or report.failed:
        raise click.exceptions.Exit(1)


def _repair_here(
    cli: CliContext,
    layout: StoreLayout,
    fetcher: SegmentFetcher,
    faulty: Sequence[Judgement],
    parallel: int,
    work_dir: Path | None,
    *,
    dry_run: bool,
) -> list[Repaired]:
    """Repair segments in threads of this process."""
    done: list[Repaired] = []
    folder_sizes = cli.client().cluster.capabilities().has(Capability.FOLDER_SIZES)
    with (
        scratch_folder("deep-store-repair-", work_dir) as folder,
        cli.out.progress("Repairing", total=len(faulty), unit="segments") as progress,
    ):
        repairer = Repairer(cli.property_store(), layout, fetcher, folder, folder_sizes=folder_sizes)
        for each in repair_all(repairer, faulty, parallel=parallel, dry_run=dry_run):
            done.append(each)
            progress.advance()
    return done


def _left_over(report: AuditReport, done: Sequence[Repaired]) -> Iterator[str]:
    """Explain the faults that a copy in the store does not fix."""
    for step in report.next_steps():
        found = step.faults & report.counts().keys()
        if found and not step.faults & REPAIRABLE:
            named = ", ".join(sorted(fault.words for fault in found))
            yield "\n  ".join([f"This command does not repair: {named}. {step.text}", *step.commands])
    passed_over = {place.place for each in done for place in each.refused} - {STORE}
    if passed_over:
        servers = ", ".join(sorted(passed_over))
        yield f"Copies on {servers} were skipped; the column passed_over has the reasons. {_DAMAGE}"


def _row(repaired: Repaired) -> tuple[object, ...]:
    return (
        repaired.table,
        repaired.segment,
        repaired.outcome.value,
        repaired.source,
        repaired.proof.value if repaired.proof else None,
        repaired.url,
        repaired.size_bytes,
        "; ".join(map(str, repaired.refused)),
        repaired.message,
    )
