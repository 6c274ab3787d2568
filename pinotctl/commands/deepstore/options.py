"""What the commands of ``pinotctl deepstore`` share: options, and the objects that these configure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from controller_client.common.names import TableName
from controller_client.deepstore.audit import AuditOptions, Auditor
from controller_client.deepstore.audit_tables import audit_tables
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import deep_stores
from controller_client.deepstore.quarantine import DEFAULT_QUARANTINE_DAYS
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.servers import ServerAdmins
from controller_client.deepstore.store_mark import StoreOwner
from controller_client.deepstore.sweep import DEFAULT_MAX_SHARE, Sweeper
from controller_client.errors import ConfigError, SourceError
from controller_client.segment_tar import TarLimits
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext

__all__ = [
    "accept_option",
    "audit_options",
    "auditor",
    "check_owner",
    "inspect_options",
    "limit_options",
    "named_tables",
    "quarantine_option",
    "repair_options",
    "run_audit",
    "store_option",
    "sweeper",
]

_GIB = 1 << 30

_Command = TypeVar("_Command", bound=Callable[..., Any])


def store_option(command: _Command) -> _Command:
    """Decorator that adds ``--store``: parameter ``store_uri``."""
    return click.option(
        "--store",
        "store_uri",
        metavar="URI",
        show_default="the controller's",
        help="The deep store; credentials are those that boto3 finds.",
    )(command)


def limit_options(command: _Command) -> _Command:
    """Decorator that adds limits for reading tars: parameter ``limits``."""

    @functools.wraps(command)
    def with_limits(*arguments: Any, max_tar_gib: float, max_unpacked_gib: float | None, **more: Any) -> Any:
        unpacked = None if max_unpacked_gib is None else int(max_unpacked_gib * _GIB)
        return command(*arguments, limits=TarLimits(int(max_tar_gib * _GIB), unpacked), **more)

    with_option = click.option(
        "--max-unpacked",
        "max_unpacked_gib",
        metavar="GIB",
        type=click.FloatRange(min=0, min_open=True),
        show_default="100 times its size plus 256 MiB",
        help="Maximum size that a tar may unpack to.",
    )(with_limits)
    return cast(
        "_Command",
        click.option(
            "--max-tar",
            "max_tar_gib",
            metavar="GIB",
            type=click.FloatRange(min=0, min_open=True),
            default=16.0,
            show_default=True,
            help="Maximum size of a tar to read; lower if the metadata contains the segment's size.",
        )(with_option),
    )


def inspect_options(command: _Command) -> _Command:
    """Decorator that adds how to check segments: ``store_uri``, ``read_tars``, ``rate``, ``limits``."""
    command = limit_options(command)
    command = click.option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        default=50.0,
        show_default=True,
        help="Maximum requests per second to ZooKeeper (pages), controller and servers together.",
    )(command)
    command = click.option(
        "--read-tars",
        is_flag=True,
        help="Read each tar in the store to verify its content; takes as long as reading the store.",
    )(command)
    return store_option(command)


def audit_options(command: _Command) -> _Command:
    """Decorator that adds the options of :func:`inspect_options`, and ``min_copies``."""
    return click.option(
        "--min-copies",
        type=click.IntRange(min=1),
        default=2,
        show_default=True,
        help="Good copies that each segment should have, on servers and in the store together.",
    )(inspect_options(command))


def accept_option(command: _Command) -> _Command:
    """Decorator that adds ``--accept-agreeing``."""
    return click.option(
        "--accept-agreeing",
        is_flag=True,
        help="Also accept a copy that no checksum verifies if two ONLINE servers have the same rows: for "
        "upsert tables, whose servers write into segments, and after reloads that cannot be undone.",
    )(command)


def repair_options(command: _Command) -> _Command:
    """Decorator that adds how to repair segments: ``parallel``, ``work_dir``, ``accept_agreeing``."""
    command = accept_option(command)
    command = click.option(
        "--work-dir",
        type=click.Path(file_okay=False, exists=True, path_type=Path),
        show_default="the system's temporary folder",
        help="Folder with space for the tars that are being copied.",
    )(command)
    return click.option(
        "--parallel",
        type=click.IntRange(min=1),
        default=4,
        show_default=True,
        help="Segments to copy at a time.",
    )(command)


def quarantine_option(command: _Command) -> _Command:
    """Decorator that adds ``--quarantine-days``."""
    return click.option(
        "--quarantine-days",
        metavar="DAYS",
        type=click.IntRange(min=0),
        default=DEFAULT_QUARANTINE_DAYS,
        show_default=True,
        help="Full days that swept objects stay in the store's quarantine before they are deleted for good; "
        "0: delete them at once.",
    )(command)


@contextmanager
def auditor(
    cli: CliContext,
    store_uri: str | None,
    *,
    min_copies: int = 2,
    read_tars: bool = False,
    rate: float = 50.0,
    limits: TarLimits | None = None,
) -> Iterator[tuple[Auditor, ServerAdmins]]:
    """Yield an auditor and the servers' client; connections are closed at the end of the block."""
    limit = RateLimit(rate)
    client = cli.client()
    layout = StoreLayout.of(client, store_uri)
    options = AuditOptions(min_copies=min_copies, read_tars=read_tars, limits=limits or TarLimits())
    with ServerAdmins(client, limit) as servers:
        yield Auditor(client, cli.property_store(), layout, servers, limit, options), servers


def sweeper(
    cli: CliContext,
    layout: StoreLayout,
    min_age_h: float,
    rate: float = 50.0,
    max_share: float = DEFAULT_MAX_SHARE,
    quarantine_days: int = DEFAULT_QUARANTINE_DAYS,
) -> Sweeper:
    """Return a sweeper, which finds leftovers in the store and takes them away."""
    return Sweeper(
        cli.property_store(),
        layout,
        deep_stores(),
        RateLimit(rate),
        cli.client().clock,
        min_age_s=min_age_h * 3600,
        max_share=max_share,
        quarantine_days=quarantine_days,
    )


def check_owner(cli: CliContext, layout: StoreLayout) -> None:
    """Refuse a store that has the mark of another cluster.

    A store that cannot be read now is accepted: each repair then fails by itself, and each deletion checks
    again.

    Raises:
        ConflictError: It has the mark of another cluster.
        DataError: The mark or the cluster's id is damaged.
    """
    with suppress(SourceError, ConfigError):
        StoreOwner(cli.property_store(), layout, deep_stores()).check()


def named_tables(cli: CliContext, table_names: Sequence[str]) -> list[TableName]:
    """Return the tables named on the command line.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: There are both an offline and a realtime table of that name.
    """
    return [table_with_type(cli.client(), name) for name in table_names]


def run_audit(cli: CliContext, segment_auditor: Auditor, named: Sequence[TableName]) -> AuditReport:
    """Audit tables (all, unless some are named), with progress on stderr."""
    clock = cli.client().clock
    started_ms, started_s = int(clock.now() * 1000), clock.monotonic()
    with cli.out.progress("Auditing", unit="segments") as progress:
        audited = audit_tables(segment_auditor, named, progress.advance)
    return AuditReport(
        segment_auditor.layout.root,
        segment_auditor.options.min_copies,
        started_ms,
        clock.monotonic() - started_s,
        audited.audits,
        audited.failed,
    )
