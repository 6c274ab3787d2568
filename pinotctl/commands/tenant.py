"""List, show, create, extend, shrink and delete tenants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.common.names import TableType
from controller_client.common.text import counted_text, did_you_mean
from controller_client.errors import ConflictError, NotAppliedError, NotFoundError
from pinotctl.commands.instance_changes import known_instance
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import tenant_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

if TYPE_CHECKING:
    from controller_client.rest.tenants import Tenant, TenantRole

__all__ = ["tenant"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_NAME = tenant_argument(metavar="TENANT")
_ROLE = click.option(
    "--role",
    type=click.Choice(["server", "broker"]),
    default="server",
    show_default=True,
    help="Role of the tenant's instances.",
)
_INSTANCES = click.option(
    "--instance",
    "instances",
    metavar="NAME",
    multiple=True,
    help="Instance, live or not; it keeps its other tenants. Repeatable.",
)
_FOR = click.option(
    "--for",
    "table_type",
    type=click.Choice([each.lower() for each in TableType]),
    show_default="both",
    help="For servers: only for tables of this type.",
)


def _count_option(help_text: str) -> Callable[[_Command], _Command]:
    return click.option("--count", type=click.IntRange(min=1), metavar="N", help=help_text)


@click.group(help=__doc__, cls=CommandGroup)
def tenant() -> None:  # noqa: D103  # help is the module's docstring
    pass


@tenant.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the server tenants and broker tenants."""
    tenants = cli.client().tenants.list()
    rows = [("broker", name) for name in tenants.broker] + [("server", name) for name in tenants.server]
    cli.out.table(("role", "tenant"), rows)


@tenant.command()
@_NAME
@output_option()
@pass_cli
def show(cli: CliContext, name: str) -> None:
    """Show the instances of a tenant, and the tables on its servers."""
    members = _get(cli, name)
    tables = cli.client().tenants.tables(name)
    rows = [
        *(("server", each, _kinds(members, each)) for each in members.servers),
        *(("broker", each, "") for each in members.broker),
    ]
    if cli.out.is_json:
        cli.out.json(
            {
                "tenant": name,
                "offline_servers": list(members.offline),
                "realtime_servers": list(members.realtime),
                "brokers": list(members.broker),
                "tables": list(tables),
            }
        )
        return
    cli.out.table(("role", "instance", "tables_of_type"), rows)
    cli.out.note(f"Tables on its servers: {', '.join(tables) or 'none'}.")


@tenant.command()
@_NAME
@_ROLE
@_INSTANCES
@_count_option("Number of live instances without a tenant to use.")
@_FOR
@dry_run_option
@output_option()
@pass_cli
def create(
    cli: CliContext,
    name: str,
    role: str,
    instances: tuple[str, ...],
    count: int | None,
    table_type: str | None,
    dry_run: bool,
) -> None:
    """Create a tenant from named instances, or from --count free ones."""
    tenant_role = _role(role)
    known = cli.client().tenants.list()
    if name in (known.server if role == "server" else known.broker):
        raise ConflictError(
            f"the {role} tenant {name} already exists",
            where=cli.client().config.url,
            remedy=f"add instances to it with 'pinotctl tenant extend {name}'",
        )
    _extend(cli, name, tenant_role, instances, count, table_type, dry_run)


@tenant.command()
@_NAME
@_ROLE
@_INSTANCES
@_count_option("Number of live instances without a tenant to add.")
@_FOR
@dry_run_option
@output_option()
@pass_cli
def extend(
    cli: CliContext,
    name: str,
    role: str,
    instances: tuple[str, ...],
    count: int | None,
    table_type: str | None,
    dry_run: bool,
) -> None:
    """Add instances to a tenant: named ones, or --count free ones.

    New servers get segments when the tenant's tables are rebalanced.
    """
    found = _get(cli, name)
    if not (found.servers if role == "server" else found.broker):
        raise NotFoundError(
            f"the tenant {name} has no {role}s", remedy=f"create it with 'pinotctl tenant create {name}'"
        )
    _extend(cli, name, _role(role), instances, count, table_type, dry_run)


@tenant.command()
@_NAME
@_ROLE
@click.option(
    "--instance",
    "instances",
    metavar="NAME",
    multiple=True,
    required=True,
    help="Instance to remove. Repeatable.",
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def shrink(
    cli: CliContext, name: str, role: str, instances: tuple[str, ...], dry_run: bool, yes: bool
) -> None:
    """Remove instances from a tenant.

    Servers keep segments of its tables until the tables are rebalanced; brokers stop serving its tables.
    """
    found = _get(cli, name)
    strangers = sorted(set(instances) - set(found.servers if role == "server" else found.broker))
    if strangers:
        raise NotFoundError(f"{', '.join(strangers)} is not in the {role} tenant {name}")
    record = _record(name, role, instances, dry_run)
    what = f"{', '.join(instances)} from the {role} tenant {name}"
    if dry_run:
        cli.out.result(f"Would remove {what}.", record)
        return
    confirm(f"Remove {what} at {cli.client().config.url}?", yes=yes)
    tags = cli.client().tenants.remove(name, _role(role), instances)
    cli.out.result(f"Removed {what}.{_rebalance_hint(role)}", {**record, "tags": _lists(tags)})


@tenant.command()
@_NAME
@_ROLE
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(cli: CliContext, name: str, role: str, dry_run: bool, yes: bool) -> None:
    """Delete a tenant by removing its tags from all its instances; refused while it has tables."""
    found = _get(cli, name)
    instances = found.servers if role == "server" else found.broker
    if not instances:
        raise NotFoundError(f"there is no {role} tenant {name}", remedy="see 'pinotctl tenant list'")
    tables = _tables(cli, name, role)
    if tables:
        raise ConflictError(
            f"the {role} tenant {name} has the tables {', '.join(tables)}",
            remedy="move the tables with 'pinotctl table move' and rebalance them, or delete them",
        )
    record = _record(name, role, instances, dry_run)
    what = f"the {role} tenant {name} with {counted_text(len(instances), role)}"
    if dry_run:
        cli.out.result(f"Would delete {what}.", record)
        return
    confirm(f"Delete {what} at {cli.client().config.url}?", yes=yes)
    cli.client().tenants.delete(name, _role(role))
    cli.out.result(f"Deleted {what}.", record)


def _record(name: str, role: str, instances: Sequence[str], dry_run: bool) -> dict[str, Any]:
    return {
        "tenant": name,
        "role": role,
        "instances": list(instances),
        "changed": not dry_run,
        "dry_run": dry_run,
    }


def _extend(
    cli: CliContext,
    name: str,
    role: TenantRole,
    instances: tuple[str, ...],
    count: int | None,
    table_type: str | None,
    dry_run: bool,
) -> None:
    if bool(instances) == (count is not None):
        raise click.UsageError("pass either --instance or --count")
    if table_type is not None and role == "broker":
        raise click.UsageError("--for needs --role server")
    types = [TableType(table_type.upper())] if table_type else list(TableType)
    client = cli.client()
    for each in instances:
        known_instance(cli, each)
    chosen = _free(cli, role, count) if count is not None else list(instances)
    record: dict[str, Any] = {
        "tenant": name,
        "role": str(role),
        "instances": chosen,
        "changed": not dry_run,
        "dry_run": dry_run,
    }
    what = ", ".join(chosen)
    if dry_run:
        cli.out.result(f"Would add {what} to the {role} tenant {name}.", record)
        return
    tags = client.tenants.add(name, role, chosen, types=types)
    cli.out.result(
        f"Added {what} to the {role} tenant {name}.{_rebalance_hint(role)}", {**record, "tags": _lists(tags)}
    )


def _free(cli: CliContext, role: TenantRole, count: int) -> list[str]:
    free = list(cli.client().tenants.free_instances(role))
    if len(free) < count:
        raise NotAppliedError(
            f"the cluster has {counted_text(len(free), f'live {role}')} without a tenant",
            expected=f"at least {count}",
            remedy=f"start more {role}s, or name {role}s of other tenants with --instance",
        )
    return free[:count]


def _get(cli: CliContext, name: str) -> Tenant:
    try:
        return cli.client().tenants.get(name)
    except NotFoundError as error:
        known = cli.client().tenants.list()
        error.remedy = did_you_mean(
            name, {*known.server, *known.broker}, otherwise="see 'pinotctl tenant list'"
        )
        raise


def _tables(cli: CliContext, name: str, role: str) -> list[str]:
    """Return the tables whose config names the tenant."""
    client = cli.client()
    if role == "server":
        return list(client.tenants.tables(name))
    return [table for table, config in client.tables.all_in_use() if config.tenants.get("broker") == name]


def _kinds(found: Tenant, server: str) -> str:
    kinds = (("offline", found.offline), ("realtime", found.realtime))
    return ", ".join(kind for kind, servers in kinds if server in servers)


def _rebalance_hint(role: str) -> str:
    return " Rebalance its tables with 'pinotctl table rebalance'." if role == "server" else ""


def _lists(tags: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(each) for name, each in tags.items()}


def _role(text: str) -> TenantRole:
    from controller_client.rest.tenants import TenantRole

    return TenantRole(text)
