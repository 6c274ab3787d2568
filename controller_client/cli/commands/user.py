"""List, create, change and delete the users of a cluster that keeps them in ZooKeeper.

Pinot looks at them where its roles are configured with ZkBasicAuthAccessControlFactory. Passwords come from
a file or from PINOT_NEW_PASSWORD, never from the command line, and are never shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from controller_client.cli.arguments import read_text
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import confirm, dry_run_option, output_option, yes_option
from controller_client.errors import ConfigError, ConflictError

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
    help="Where the user may log in; each has users of its own.",
)
_PASSWORD = click.option(
    "--new-password-file",
    "password_file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help=f"File that holds the user's password; without it {_VARIABLE} of the environment does.",
)


def _rights(command: _Command) -> _Command:
    options = (
        click.option("--role", type=click.Choice(["admin", "user"]), help="An admin may do everything."),
        click.option(
            "--table",
            "tables",
            metavar="TABLE",
            multiple=True,
            help="A table that the user is for; default: all.",
        ),
        click.option(
            "--permission",
            "permissions",
            type=click.Choice(["create", "read", "update", "delete"]),
            multiple=True,
            help="What the user may do; default: everything.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(help=__doc__)
def user() -> None:  # noqa: D103  # help is the module's docstring
    pass


@user.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the users, with what each may do."""
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
    """Add a user of one component."""
    from controller_client.rest.users import Component, Permission, User, UserRole

    wanted = User(
        name,
        Component(component.upper()),
        UserRole((role or "user").upper()),
        tables=tables,
        permissions=tuple(Permission(each.upper()) for each in permissions),
    )
    password = _new_password(password_file)
    if password is None:
        raise ConfigError(
            "the user has no password",
            remedy=f"pass --new-password-file, or set {_VARIABLE} in the environment",
        )
    record = {**_json(wanted), "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        if any((each.name, each.component) == (name, wanted.component) for each in cli.client().users.list()):
            raise ConflictError(f"there is a user {name} of the component {component} already")
        cli.out.result(f"The user {name} of the {component} would be created.", record)
        return
    cli.client().users.create(wanted, password)
    cli.out.result(f"The user {name} of the {component} is created.", record)
    _note_unused(cli)


@user.command()
@_NAME
@_COMPONENT
@_rights
@_PASSWORD
@click.option("--all-tables", is_flag=True, help="The user is for all tables again.")
@click.option("--all-permissions", is_flag=True, help="The user may do everything with them again.")
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
    """Change what a user may do, or the password; what no option names stays."""
    from controller_client.rest.users import Component, Permission, UserRole

    if (tables and all_tables) or (permissions and all_permissions):
        raise click.UsageError("--all-tables and --all-permissions do not go with single ones")
    before = cli.client().users.get(name, Component(component.upper()))
    wanted = replace(
        before,
        role=UserRole(role.upper()) if role else before.role,
        tables=tables or (() if all_tables else before.tables),
        permissions=tuple(Permission(each.upper()) for each in permissions)
        or (() if all_permissions else before.permissions),
    )
    password = _new_password(password_file)
    changes = [key for key, value in _json(wanted).items() if _json(before)[key] != value]
    changes += ["password"] if password else []
    record = {
        **_json(wanted),
        "changes": changes,
        "changed": bool(changes) and not dry_run,
        "dry_run": dry_run,
    }
    named = ", ".join(changes)
    if not changes:
        cli.out.result(f"The user {name} of the {component} is like that already.", record)
    elif dry_run:
        cli.out.result(f"The user {name} of the {component} would change: {named}.", record)
    else:
        cli.client().users.update(wanted, password)
        cli.out.result(f"The user {name} of the {component} changed: {named}.", record)


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
        cli.out.result(f"The user {name} of the {component} would be deleted.", record)
        return
    confirm(f"Delete the user {name} of the {component} at {cli.client().config.url}?", yes=yes)
    cli.client().users.delete(name, chosen)
    cli.out.result(f"The user {name} of the {component} is deleted.", record)


def _json(found: User) -> dict[str, Any]:
    return {
        "user": found.name,
        "component": found.component.lower(),
        "role": found.role.lower(),
        "tables": list(found.tables),
        "exclude_tables": list(found.exclude_tables),
        "permissions": [each.lower() for each in found.permissions],
    }


def _new_password(file: str | None) -> Secret | None:
    from controller_client.config import Secret

    text = read_text(file).rstrip("\r\n") if file else os.environ.get(_VARIABLE)
    if file and not text:
        raise ConfigError("the file of the password is empty", where=file)
    return Secret(text) if text else None


def _note_unused(cli: CliContext) -> None:
    """Say where the controller does not look at its users; how the other roles are set up nobody reports."""
    config = cli.client().cluster.app_config()
    factory = config.get("controller.admin.access.control.factory.class", "")
    if "ZkBasicAuth" not in factory:
        cli.out.note(
            "This controller does not look at users: its controller.admin.access.control.factory.class is "
            f"{factory or 'not set'}."
        )
