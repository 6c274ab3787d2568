"""What the commands for the cluster as code share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from controller_client.as_code import Folder, References, read_folder

__all__ = ["DIFFERENCES", "folder_argument", "opened", "plan_options"]

DIFFERENCES = 4
"""Exit code if there are differences."""

_Command = TypeVar("_Command", bound=Callable[..., Any])

folder_argument = click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))


def plan_options(command: _Command) -> _Command:
    """Decorator that adds ``--prune`` and ``--keep-unset``."""
    prune = click.option(
        "--prune",
        is_flag=True,
        help="Delete tables and schemas that the folder's owner applied and that no longer have a file; what "
        "others created is never deleted.",
    )
    keep = click.option(
        "--keep-unset",
        is_flag=True,
        help="Leave a field unchanged if a variable or file that it refers to (e.g. ${env:NAME}) is missing.",
    )
    return prune(keep(command))


def opened(folder: Path) -> tuple[Folder, References]:
    """Read a folder; its files may refer to this process' environment and to files below the folder."""
    return read_folder(folder), References(os.environ, folder)
