"""List, create, update and delete users, for clusters that keep them in ZooKeeper.

Pinot uses them if its roles are configured with ZkBasicAuthAccessControlFactory. Passwords come from a file
or from PINOT_NEW_PASSWORD, never from the command line, and are never shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.errors import ConfigError, ConflictError
from pinotctl.arguments import read_text
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

if TYPE_CHECKING:
    from controller_client.config import Secret
    from controller_client.rest.users import User

__all__ = ["user"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_VARIABLE = "PINOT_NEW_PASSWORD"
_NAME = click.argument("name", metavar="USER")
_COMPONENT = click.option(
    "--component",
    type=click.Choice(["controller", "broker", "server"]),
    required=True,
    help="Component that the user logs in to; each has its own users.",
)
_PASSWORD = click.option(
    "--new-password-file",
    "password_file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    show_default=f"the environment variable {_VARIABLE}",
    help="File that contains the user's password.",
)


def _rights(command: _Command) -> _Command:
    options = (
        click.option(
            "--role",
            type=click.Choice(["admin", "user"]),
            help="Role of the user; an admin may do everything.",
        ),
        click.option(
            "--table",
            "tables",
            metavar="TABLE",
            multiple=True,
            show_default="all",
            help="Table that the user may access. Repeatable.",
        ),
        click.option(
            "--permission",
            "permissions",
            type=click.Choice(["create", "read", "update", "delete"]),
            multiple=True,
            show_default="all",
            help="What the user may do. Repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(help=__doc__, cls=CommandGroup)
def user() -> None:  # noqa: D103  # help is the module's docstring
    pass


@user.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the users and their permissions."""
    rows = [tuple(_json(each).values()) for each in cli.client().users.list()]
    cli.out.table(("user", "component", "role", "tables", "exclude_tables", "permissions"), rows)


@user.command()
@_NAME
@_COMPONENT
@_rights
@_PASSWORD
@dry_run_option
@output_option()
@pass_cli
def create(
    cli: CliContext,
    name: str,
    component: str,
    role: str | None,
    tables: tuple[str, ...],
    permissions: tuple[str, ...],
    password_file: str | None,
    dry_run: bool,
) -> None:
    """Create a user of one component."""
    from controller_client.rest.users import Component, Permission, User, UserRole

    new_user = User(
        name,
        Component(component.upper()),
        UserRole((role or "user").upper()),
        tables=tables,
        permissions=tuple(Permission(permission.upper()) for permission in permissions),
    )
    password = _new_password(password_file)
    if password is None:
        raise ConfigError(
            "the user has no password",
            remedy=f"pass --new-password-file, or set the environment variable {_VARIABLE}",
        )
    record = {**_json(new_user), "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        if any(
            (existing.name, existing.component) == (name, new_user.component)
            for existing in cli.client().users.list()
        ):
            raise ConflictError(f"the user {name} of the {component} already exists")
        cli.out.result(f"Would create the user {name} of the {component}.", record)
        return
    cli.client().users.create(new_user, password)
    cli.out.result(f"Created the user {name} of the {component}.", record)
    _note_unused(cli)


@user.command()
@_NAME
@_COMPONENT
@_rights
@_PASSWORD
@click.option("--all-tables", is_flag=True, help="Remove the restriction to certain tables.")
@click.option("--all-permissions", is_flag=True, help="Remove the restriction to certain permissions.")
@dry_run_option
@output_option()
@pass_cli
def update(
    cli: CliContext,
    name: str,
    component: str,
    role: str | None,
    tables: tuple[str, ...],
    permissions: tuple[str, ...],
    password_file: str | None,
    all_tables: bool,
    all_permissions: bool,
    dry_run: bool,
) -> None:
    """Change a user's permissions or password; what you do not pass stays unchanged."""
    from controller_client.rest.users import Component, Permission, UserRole

    if (tables and all_tables) or (permissions and all_permissions):
        raise click.UsageError(
            "--all-tables cannot be combined with --table, nor --all-permissions with --permission"
        )
    before = cli.client().users.get(name, Component(component.upper()))
    changed_user = replace(
        before,
        role=UserRole(role.upper()) if role else before.role,
        tables=tables or (() if all_tables else before.tables),
        permissions=tuple(Permission(each.upper()) for each in permissions)
        or (() if all_permissions else before.permissions),
    )
    password = _new_password(password_file)
    changes = [key for key, value in _json(changed_user).items() if _json(before)[key] != value]
    changes += ["password"] if password else []
    record = {
        **_json(changed_user),
        "changes": changes,
        "changed": bool(changes) and not dry_run,
        "dry_run": dry_run,
    }
    named = ", ".join(changes)
    if not changes:
        cli.out.result(f"The user {name} of the {component} is already up to date.", record)
    elif dry_run:
        cli.out.result(f"Would change the user {name} of the {component}: {named}.", record)
    else:
        cli.client().users.update(changed_user, password)
        cli.out.result(f"Changed the user {name} of the {component}: {named}.", record)


@user.command()
@_NAME
@_COMPONENT
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(cli: CliContext, name: str, component: str, dry_run: bool, yes: bool) -> None:
    """Delete a user of one component."""
    from controller_client.rest.users import Component

    chosen = Component(component.upper())
    found = cli.client().users.get(name, chosen)
    record = {**_json(found), "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"Would delete the user {name} of the {component}.", record)
        return
    confirm(f"Delete the user {name} of the {component} at {cli.client().config.url}?", yes=yes)
    cli.client().users.delete(name, chosen)
    cli.out.result(f"Deleted the user {name} of the {component}.", record)


def _json(pinot_user: User) -> dict[str, Any]:
    return {
        "user": pinot_user.name,
        "component": pinot_user.component.lower(),
        "role": pinot_user.role.lower(),
        "tables": list(pinot_user.tables),
        "exclude_tables": list(pinot_user.exclude_tables),
        "permissions": [each.lower() for each in pinot_user.permissions],
    }


def _new_password(file: str | None) -> Secret | None:
    from controller_client.config import Secret

    text = read_text(file).rstrip("\r\n") if file else os.environ.get(_VARIABLE)
    if file and not text:
        raise ConfigError("the password file is empty", where=file)
    return Secret(text) if text else None


def _note_unused(cli: CliContext) -> None:
    """Warn if the controller does not use these users; how other roles are configured cannot be read."""
    config = cli.client().cluster.app_config()
    factory = config.get("controller.admin.access.control.factory.class", "")
    if "ZkBasicAuth" not in factory:
        cli.out.note(
            "This controller does not use these users: its controller.admin.access.control.factory.class "
            f"is {factory or 'not set'}."
        )
