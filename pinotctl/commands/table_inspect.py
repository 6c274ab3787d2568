"""Show a table's size on its servers' disks, and how far they have consumed."""

from __future__ import annotations

import click

from controller_client.common.names import TableType
from controller_client.errors import ConfigError
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import output_option

__all__ = ["INSPECTIONS"]

_TABLE = table_argument()
_SEGMENT_COLUMNS = ("segment", "server", "size_bytes")
_SERVER_COLUMNS = ("server", "segments", "size_bytes")


@click.command()
@_TABLE
@click.option("--by-segment", is_flag=True, help="List each segment replica instead of sums per server.")
@output_option()
@pass_cli
def size(cli: CliContext, table_name: str, by_segment: bool) -> None:
    """Show the size of a table on its servers' disks; JSON has totals, servers and segments.

    reported_bytes is the sum of the sizes that servers reported. estimated_bytes uses the size of a segment's
    largest replica for replicas that were not reported. Segments without any report are listed.
    """
    table = table_with_type(cli.client(), table_name)
    table_size = cli.client().tables.size(table)
    servers = [(server, count, total) for server, (count, total) in sorted(table_size.by_server().items())]
    replicas = [
        (each.segment, server, reported)
        for each in table_size.segments
        for server, reported in sorted(each.servers.items())
    ]
    if cli.out.is_json:
        cli.out.json(
            {
                "table": table,
                "reported_bytes": table_size.reported_bytes,
                "estimated_bytes": table_size.estimated_bytes,
                "missing_segments": list(table_size.missing),
                "silent_servers": list(table_size.silent_servers),
                "servers": [dict(zip(_SERVER_COLUMNS, row, strict=True)) for row in servers],
                "segments": [dict(zip(_SEGMENT_COLUMNS, row, strict=True)) for row in replicas],
            }
        )
    elif by_segment:
        cli.out.table(_SEGMENT_COLUMNS, replicas)
    else:
        cli.out.table(_SERVER_COLUMNS, servers)
    reported = "nothing" if table_size.reported_bytes is None else f"{table_size.reported_bytes:,} bytes"
    estimated = "unknown" if table_size.estimated_bytes is None else f"{table_size.estimated_bytes:,} bytes"
    cli.out.note(f"{table}: {reported} reported, {estimated} estimated.")
    if table_size.missing:
        cli.out.note(f"Segments that no server reported: {', '.join(table_size.missing)}.")
    if table_size.silent_servers:
        cli.out.note(
            f"Servers that did not report all of their segments: {', '.join(table_size.silent_servers)}."
        )


@click.command()
@_TABLE
@output_option()
@pass_cli
def consuming(cli: CliContext, table_name: str) -> None:
    """Show what each server reports about the segments that it consumes.

    'pinotctl consumption status' shows the same for each partition, next to the stream's own offsets.
    """
    table = table_with_type(cli.client(), table_name)
    if table.type is not TableType.REALTIME:
        raise ConfigError(f"{table} does not consume a stream", expected="a REALTIME table")
    progress = cli.client().consumption.progress(table)
    rows = [
        (
            segment,
            replica.server,
            "consuming" if replica.consuming else "not_consuming",
            replica.offset,
            replica.latest_offset,
            replica.lag,
            replica.consumed_ms,
        )
        for segment, replicas in sorted(progress.items())
        for replica in replicas
    ]
    columns = ("segment", "server", "state", "offset", "latest_offset", "lag", "consumed_ms")
    cli.out.table(columns, rows)
    silent = [segment for segment, replicas in sorted(progress.items()) if not replicas]
    cli.out.note(f"Segments of {table} that should be consuming: {len(progress):,}.")
    if silent:
        cli.out.note(f"No server reports on {', '.join(silent)}.")


INSPECTIONS = (size, consuming)
