"""Runs in an environment under test: imports modules, loads entry points, asks every command for its help.

Reads what to import from the command line, and writes what it found as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import click

from controller_client.errors import SetupError
from pinotctl.root import cli


def import_failures(packages: list[str]) -> dict[str, str]:
    """The modules of packages that cannot be imported, each with the module that is missing."""
    failed: dict[str, str] = {}
    for package in packages:
        names = [package]
        path = getattr(importlib.import_module(package), "__path__", None)
        names += [module.name for module in pkgutil.walk_packages(path, f"{package}.", failed.__contains__)]
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError as error:
                failed[name] = error.name or str(error)
    return failed


def walk(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, str | None]]:
    """Each command with None where its help can be shown, else with what the error says to do."""
    if not isinstance(command, click.Group):
        with contextlib.redirect_stdout(io.StringIO()):
            command.main(["--help"], prog_name=ctx.command_path, standalone_mode=False)
        yield ctx.command_path, None
        return
    for name in command.list_commands(ctx):
        try:
            below = command.get_command(ctx, name)
        except SetupError as error:
            yield f"{ctx.command_path} {name}", error.remedy
        else:
            assert below is not None
            yield from walk(below, click.Context(below, info_name=name, parent=ctx))


def main() -> None:
    """Do what the first argument says."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    for library in order["libraries"]:
        importlib.import_module(library)
    loaded = [
        f"{group}: {point.name}"
        for group in order["groups"]
        for point in importlib.metadata.entry_points(group=group)
        if point.load() is not None
    ]
    found = {
        "not_imported": import_failures(order["packages"]),
        "loaded": loaded,
        "commands": dict(walk(cli, click.Context(cli, info_name="pinotctl"))),
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
