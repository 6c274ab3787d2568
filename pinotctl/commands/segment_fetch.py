"""``pinotctl segment fetch``: download a segment from the deep store, or else from a server."""

from __future__ import annotations

from pathlib import Path

import click

from controller_client.common.folders import scratch_folder
from controller_client.common.new_file import new_file
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.errors import ConfigError, NotFoundError
from controller_client.segment_tar import TarLimits, file_name_of, on_this_disk, unpack_tar
from pinotctl.arguments import table_with_type
from pinotctl.commands.deepstore.options import (
    accept_option,
    auditor,
    limit_options,
    store_option,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import segment_argument, table_argument
from pinotctl.options import output_option

__all__ = ["fetch"]


@click.command()
@table_argument()
@segment_argument()
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=Path(),
    show_default="the current folder",
    help="Existing folder to write SEGMENT.tar.gz (with --unpack: the folder SEGMENT) to.",
)
@click.option("--unpack", is_flag=True, help="Write the segment's folder instead of its tar.gz.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@store_option
@limit_options
@accept_option
@output_option()
@pass_cli
def fetch(
    cli: CliContext,
    table_name: str,
    segment_name: str,
    folder: Path,
    unpack: bool,
    force: bool,
    store_uri: str | None,
    limits: TarLimits,
    accept_agreeing: bool,
) -> None:
    """Download a committed segment to a file, from the deep store or else from a server.

    The content is verified against the checksum in the segment's metadata; indexes and default columns that a
    server has added are left out. A copy that cannot be verified is reported, and the next one is tried.
    """
    table = table_with_type(cli.client(), table_name)
    name = file_name_of(segment_name)
    path = folder / f"{name}.tar.gz"
    target = folder / name if unpack else path
    if target.exists() and (unpack or not force):
        raise ConfigError(f"{target} already exists", remedy="remove it, or pass another --to")
    with auditor(cli, store_uri) as (segment_auditor, servers):
        judged, _ = segment_auditor.judge(table, [segment_name])
        if not judged:
            raise NotFoundError(f"{table} has no segment {segment_name}")
        fetcher = SegmentFetcher(cli.client(), servers, limits=limits, accept_agreeing=accept_agreeing)
        record, replicas = judged[0].record, judged[0].replicas
        if unpack:
            with on_this_disk(folder), scratch_folder("pinot-fetch-", folder) as work:
                fetched = fetcher.fetch(record, replicas, work / "segment.tar.gz")
                unpack_tar(work / "segment.tar.gz", folder, name, limits)
        else:
            with on_this_disk(path), new_file(path) as new:
                fetched = fetcher.fetch(record, replicas, new)
    for refusal in fetched.refused:
        cli.out.note(f"Skipped {refusal}.")
    cli.out.result(
        f"Wrote {target} ({fetched.size_bytes:,} bytes as a tar) from {fetched}.",
        {
            "table": table,
            "segment": segment_name,
            "file": str(target),
            "size_bytes": fetched.size_bytes,
            "source": str(fetched),
            "passed_over": [str(refusal) for refusal in fetched.refused],
        },
    )
