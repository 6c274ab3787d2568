"""List, show, upload, download, reset, delete and wait for the segments of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from controller_client.common.names import TableName
from controller_client.common.new_file import new_file
from controller_client.common.text import counted_text
from controller_client.errors import ConfigError, NotFoundError
from controller_client.models import TableConfig
from controller_client.models.segment import steps_of_time_column
from controller_client.publishing.targets import check_upload
from controller_client.publishing.uploaded_times import check_times
from controller_client.rest.client import RestClient
from controller_client.rest.paths import fits_in_path
from controller_client.segment_tar import describe_tar
from pinotctl.arguments import table_with_type
from pinotctl.commands import SEGMENT_COMMANDS
from pinotctl.commands.segment_reset import reset
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import LazyGroup
from pinotctl.named_arguments import segment_argument, table_argument
from pinotctl.options import confirm, dry_run_option, output_option, timeout_option, yes_option

__all__ = ["segment"]

_TABLE = table_argument()
_TIMEOUT = timeout_option("Seconds to wait.")


@click.group(help=__doc__, cls=LazyGroup, lazy_commands=SEGMENT_COMMANDS)
def segment() -> None:  # noqa: D103  # help is the module's docstring
    pass


@segment.command(name="list")
@_TABLE
@click.option("--all", "include_hidden", is_flag=True, help="Include segments that the lineage hides.")
@output_option()
@pass_cli
def list_(cli: CliContext, table_name: str, include_hidden: bool) -> None:
    """List a table's segments."""
    name = table_with_type(cli.client(), table_name)
    listed = cli.client().segments.list(name)
    if not include_hidden:
        cli.out.table(("segment",), [(segment_name,) for segment_name in listed])
        return
    visible = set(listed)
    everything = cli.client().segments.list(name, exclude_replaced=False)
    cli.out.table(
        ("segment", "visible"), [(segment_name, segment_name in visible) for segment_name in everything]
    )


@segment.command()
@_TABLE
@segment_argument()
@output_option()
@pass_cli
def show(cli: CliContext, table_name: str, segment_name: str) -> None:
    """Show a segment's metadata."""
    name = table_with_type(cli.client(), table_name)
    cli.out.record(_metadata(cli, name, segment_name))


@segment.command()
@_TABLE
@click.argument(
    "tars",
    metavar="TAR_GZ...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--no-refresh", is_flag=True, help="Refuse a segment whose name exists, instead of replacing it."
)
@click.option("--no-wait", is_flag=True, help="Do not wait until servers have loaded the segments.")
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def upload(
    cli: CliContext,
    table_name: str,
    tars: tuple[Path, ...],
    no_refresh: bool,
    no_wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Upload segments (tar.gz) through the controller; each is visible as soon as it is loaded.

    Each file is read first: it must be complete, and its folder must have the segment's own name.
    """
    client = cli.client()
    name = table_with_type(client, table_name)
    described = [describe_tar(tar) for tar in tars]
    segments = {description.name: tar for description, tar in zip(described, tars, strict=True)}
    if len(segments) != len(tars):
        raise ConfigError(
            "two of the files contain a segment of the same name", expected="one file per segment"
        )
    config = client.tables.get(name)
    check_upload(config, described)
    _check_times(client, config, tars)
    record = {"table": name, "segments": list(segments), "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        taken = segments.keys() & set(client.segments.list(name, exclude_replaced=False))
        lines = [
            f"Would {'replace' if segment_name in taken else 'add'} the segment {segment_name} of {name} "
            f"({tar.stat().st_size:,} bytes)."
            for segment_name, tar in segments.items()
        ]
        cli.out.result("\n".join(lines), {**record, "replaced": sorted(taken)})
        return
    with cli.out.progress(f"Uploading to {name}", total=len(tars), unit="segments") as progress:
        for tar in tars:
            client.segments.upload_tar(name, tar, allow_refresh=not no_refresh)
            progress.advance()
    if not no_wait:
        client.segments.wait_online(name, segments, timeout_s)
    uploaded = counted_text(len(tars), "segment")
    cli.out.result(
        f"Uploaded {uploaded}." if no_wait else f"Uploaded {uploaded}; all are online.",
        {**record, "online": not no_wait},
    )


@segment.command()
@_TABLE
@segment_argument()
@click.option(
    "--to",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    show_default="SEGMENT.tar.gz",
    help="File to write.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@output_option()
@pass_cli
def download(cli: CliContext, table_name: str, segment_name: str, target: Path | None, force: bool) -> None:
    """Download a segment's tar.gz from the deep store to a file."""
    name = table_with_type(cli.client(), table_name)
    path = target or Path(f"{Path(segment_name).name}.tar.gz")
    if path.exists() and not force:
        raise ConfigError(f"the file {path} already exists", remedy="pass --force or another --to")
    # An interrupted download must not leave a partial file under the requested name.
    with new_file(path) as new:
        size_bytes = cli.client().segments.download(name, segment_name, new)
    cli.out.result(
        f"Wrote {size_bytes:,} bytes to {path}.",
        {"table": name, "segment": segment_name, "file": str(path), "size_bytes": size_bytes},
    )


@segment.command()
@_TABLE
@segment_argument("segment_names", metavar="SEGMENT...", nargs=-1, required=True)
@click.option(
    "--retention",
    show_default="the cluster's setting",
    help="How long the deep store keeps the deleted tars, e.g. 0d.",
)
@_TIMEOUT
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(
    cli: CliContext,
    table_name: str,
    segment_names: tuple[str, ...],
    retention: str | None,
    timeout_s: float,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete segments, and wait until the servers have dropped them.

    If more than their rows would be lost, because a replacement needs them or a partition continues after
    them, the command says what follows before it asks.
    """
    client = cli.client()
    name = table_with_type(client, table_name)
    missing = set(segment_names) - set(client.segments.list(name, exclude_replaced=False))
    if missing:
        raise NotFoundError(f"{name} has no segment {', '.join(sorted(missing))}")
    what = f"{counted_text(len(segment_names), 'segment')} of {name}"
    consequences = client.segments.consequences_of_delete(name, segment_names)
    for consequence in consequences:
        cli.out.note(f"{consequence.risk}: {consequence}.")
    record = {
        "table": name,
        "segments": list(segment_names),
        "consequences": [consequence.to_json() for consequence in consequences],
        "changed": not dry_run,
        "dry_run": dry_run,
    }
    if dry_run:
        cli.out.result(f"Would delete {what}: {', '.join(segment_names)}.", record)
        return
    nevertheless = " nevertheless" if consequences else ""
    confirm(f"Delete {what} at {client.config.url}{nevertheless}?", yes=yes)
    accepted = {consequence.risk for consequence in consequences}
    client.segments.delete(name, segment_names, retention=retention, accept=accepted)
    client.segments.wait_gone(name, segment_names, timeout_s)
    cli.out.result(f"Deleted {what}.", record)


@segment.command()
@_TABLE
@segment_argument("segment_names", metavar="[SEGMENT]...", nargs=-1)
@_TIMEOUT
@output_option()
@pass_cli
def wait(cli: CliContext, table_name: str, segment_names: tuple[str, ...], timeout_s: float) -> None:
    """Wait until servers have loaded segments (all of the table, unless some are named)."""
    client = cli.client()
    name = table_with_type(client, table_name)
    names = segment_names or tuple(client.tables.ideal_state(name))
    client.segments.wait_online(name, names, timeout_s)
    cli.out.result(
        f"Online: {counted_text(len(names), 'segment')} of {name}.",
        {"table": name, "segments": list(names), "online": True},
    )


segment.add_command(reset)


def _metadata(cli: CliContext, table: TableName, name: str) -> Mapping[str, Any]:
    if fits_in_path(name):
        return cli.client().segments.metadata(table, name).to_json()
    # Pinot accepts a segment with such a name, although no server can load it; it must be seen to be deleted.
    from controller_client.zookeeper import segment_path

    is_path = name.isprintable() and {"", ".", ".."}.isdisjoint(name.split("/"))
    found = cli.property_store().get(segment_path(table, name)) if is_path else None
    if found is None:
        raise NotFoundError(f"{table} has no segment {name}")
    return found.record.simple_fields


def _check_times(client: RestClient, config: TableConfig, tars: Sequence[Path]) -> None:
    """Reject segments whose times Pinot's own tools have recorded wrongly."""
    if config.time_column is None:
        return
    with suppress(NotFoundError):  # Pinot 0.11.0 allows an offline table without a schema
        epoch = steps_of_time_column(config, client.schemas.of_table(config))
        if epoch is not None:
            for tar in tars:
                check_times(tar, config.time_column, epoch)
