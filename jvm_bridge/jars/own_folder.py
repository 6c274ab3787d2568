"""Folders of code that this process runs: nobody else may write to them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from controller_client.errors import SetupError

__all__ = ["check_only_ours", "make_folder"]

_MODE = 0o755
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0


def check_only_ours(folder: Path) -> None:
    """Refuse a folder that another user than this process's or root may write to; it may be missing.

    Raises:
        SetupError: Another user may, and so could choose the code that this process runs.
    """
    try:
        status = folder.stat()
    except OSError:
        return  # whoever opens it reports that
    user = os.geteuid()
    if status.st_uid not in (user, _ROOT):
        remedy = "set PINOT_PLUGINS_CACHE to a folder of your own, or make root the owner of this one"
    elif status.st_mode & _OTHERS_WRITE:
        remedy = f"chmod -R go-w '{folder}'; delete its content first if you do not trust who could write"
    else:
        return
    raise SetupError(
        "other users may write to the cache of jars and classes: it belongs to the user"
        f" {status.st_uid} and has the mode {stat.S_IMODE(status.st_mode):o}",
        expected=f"a folder of the user {user} or of root that nobody else may write to",
        where=str(folder),
        remedy=remedy,
    )


def make_folder(folder: Path) -> None:
    """Create a folder, and the missing ones above it; no other user may write to them, whatever the umask."""
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=_MODE, exist_ok=True)
