"""What the commands for the cluster as code share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
    """Decorator that adds ``--prune``, ``--keep-unset`` and ``--secrets-env``."""
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
    env = click.option(
        "--secrets-env",
        "secrets_env",
        metavar="PREFIX",
        multiple=True,
        help="Also allow references to variables whose names start with this, not only with PINOT_SECRET_ or "
        "what PINOT_PLUGINS_SECRETS_ENV has instead. Repeatable.",
    )
    return prune(keep(env(command)))


def opened(folder: Path, secrets_env: Sequence[str]) -> tuple[Folder, References]:
    """Read a folder; its references are limited to what this process allows, and the given prefixes."""
    return read_folder(folder), References(os.environ, folder, secrets_env)
