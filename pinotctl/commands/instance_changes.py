"""Tag, enable, disable and drop instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from controller_client.common.text import did_you_mean
from controller_client.errors import AppliedError, ConflictError, NotFoundError
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import instance_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

if TYPE_CHECKING:
    from controller_client.rest.instances import Instance

__all__ = ["INSTANCE_CHANGES", "known_instance"]

_NAME = instance_argument(metavar="INSTANCE")


def known_instance(cli: CliContext, name: str) -> Instance:
    """Return an instance.

    Raises:
        NotFoundError: There is no such instance; the error suggests the nearest names.
    """
    try:
        return cli.client().instances.get(name)
    except NotFoundError as error:
        known = cli.client().instances.list()
        error.remedy = did_you_mean(name, known, otherwise="see 'pinotctl instance list'")
        raise


@click.command()
@_NAME
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--add", "added", metavar="TAG", multiple=True, help="Tag to add. Repeatable.")
@click.option("--remove", "removed", metavar="TAG", multiple=True, help="Tag to remove. Repeatable.")
@dry_run_option
@output_option()
@pass_cli
def tag(
    cli: CliContext,
    name: str,
    tags: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Set all tags of an instance, or add and remove single tags with --add and --remove.

    A broker serves the tables of its new tags at once. Servers keep their segments until the tables are
    rebalanced.
    """
    if bool(tags) == bool(added or removed):
        raise click.UsageError("pass all tags of the instance, or use --add and --remove")
    before = known_instance(cli, name).tags
    kept = tuple(each for each in before if each not in removed)
    new_tags = tuple(dict.fromkeys(tags or (*kept, *added)))
    if not new_tags:
        raise click.UsageError(
            "an instance needs at least one tag; server_untagged and broker_untagged stand for no tag"
        )
    same = set(new_tags) == set(before)
    record = {
        "instance": name,
        "before": list(before),
        "tags": list(new_tags),
        "changed": not (same or dry_run),
        "dry_run": dry_run,
    }
    shown = f"{', '.join(before) or 'none'} -> {', '.join(new_tags)}"
    if same:
        cli.out.result(f"{name} already has these tags.", record)
    elif dry_run:
        cli.out.result(f"The tags of {name} would change: {shown}.", record)
    else:
        cli.client().instances.set_tags(name, new_tags, update_broker_resource=True)
        cli.out.result(f"Changed the tags of {name}: {shown}.", record)


@click.command()
@_NAME
@dry_run_option
@output_option()
@pass_cli
def enable(cli: CliContext, name: str, dry_run: bool) -> None:
    """Have Helix assign work to an instance again."""
    _set_enabled(cli, name, enabled=True, dry_run=dry_run)


@click.command()
@_NAME
@dry_run_option
@yes_option
@output_option()
@pass_cli
def disable(cli: CliContext, name: str, dry_run: bool, yes: bool) -> None:
    """Have Helix take all work from an instance: a server unloads its segments but keeps its assignments."""
    known_instance(cli, name)
    if not dry_run:
        confirm(f"Take all work from {name} at {cli.client().config.url}?", yes=yes)
    _set_enabled(cli, name, enabled=False, dry_run=dry_run)


def _set_enabled(cli: CliContext, name: str, *, enabled: bool, dry_run: bool) -> None:
    was = known_instance(cli, name).enabled
    word = "enabled" if enabled else "disabled"
    record = {
        "instance": name,
        "enabled": was if dry_run else enabled,
        "changed": was != enabled and not dry_run,
        "dry_run": dry_run,
    }
    if was == enabled:
        cli.out.result(f"{name} is already {word}.", record)
    elif dry_run:
        cli.out.result(f"{name} would be {word}.", record)
    else:
        settled = True
        try:
            cli.client().instances.set_enabled(name, enabled)
        except AppliedError as error:
            settled = False
            cli.out.note(f"{error.message}.")
        cli.out.result(f"{name} is {word}.", {**record, "settled": settled})


@click.command()
@_NAME
@dry_run_option
@yes_option
@output_option()
@pass_cli
def drop(cli: CliContext, name: str, dry_run: bool, yes: bool) -> None:
    """Remove an instance that is stopped for good from the cluster.

    Refused if the instance is live, or still has segments or tables assigned to it.
    """
    client = cli.client()
    known_instance(cli, name)
    check = client.instances.drop_check(name)
    record = {
        "instance": name,
        "live": check.live,
        "segments": dict(check.segments),
        "broker_of": list(check.broker_of),
        "other_resources": list(check.others),
        "obstacles": check.obstacles,
        "changed": False,
        "dry_run": dry_run,
    }
    if check.obstacles and not dry_run:
        raise ConflictError(
            f"{name} cannot be dropped: {'; '.join(check.obstacles)}", where=client.config.url
        )
    if check.obstacles:
        cli.out.result(f"{name} would not be dropped: {'; '.join(check.obstacles)}.", record)
        return
    if dry_run:
        cli.out.result(f"{name} would be dropped: it is not live and no table uses it.", record)
        return
    confirm(f"Drop {name} at {client.config.url}? It is not live and no table uses it.", yes=yes)
    client.instances.drop(name)
    cli.out.result(f"Dropped {name}.", {**record, "changed": True})


INSTANCE_CHANGES = (tag, enable, disable, drop)
