"""Limits the folders reachable by ``file://`` to those allowed by this process's operator.

The author of a table config decides where files are read and staged. Without a limit, that could be anything
that this process's user may read and that has the form of data:

==============================  ==============================================================================
``PINOT_PLUGINS_FILE_DIRS``     allowed folders for ``file://``, separated as in ``PATH``; default: no
                                limit, but links in a source folder must not lead out of it
``PINOT_PLUGINS_SECRETS_DIR``   never allowed: its files are only for references
==============================  ==============================================================================

Links are resolved first: the actual location of a file counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.text import visible
from controller_client.errors import SourceError

__all__ = ["OperatorFolders"]

_DIRS, _SECRETS = "PINOT_PLUGINS_FILE_DIRS", "PINOT_PLUGINS_SECRETS_DIR"


class OperatorFolders:
    """Checks whether a path may be used.

    Args:
        environ: Used instead of the process's environment.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        env = os.environ if environ is None else environ
        self._allowed = tuple(Path(each).resolve() for each in env.get(_DIRS, "").split(os.pathsep) if each)
        secrets = env.get(_SECRETS)
        self._secrets = Path(secrets).resolve() if secrets else None

    @property
    def are_bounded(self) -> bool:
        """Whether there is any limit."""
        return bool(self._allowed) or self._secrets is not None

    def check(self, path: Path) -> None:
        """Refuse a path that may not be used.

        Raises:
            SourceError: The operator does not allow it, or it cannot be resolved.
        """
        if not self.are_bounded:
            return
        self.check_resolved(_resolved(path), path)

    def check_link(self, path: Path, folder: Path) -> Path:
        """Refuse a path below a folder that leads out of it, unless the operator names where it leads.

        Whoever may write into a folder of sources may not choose other files of this process's user.

        Args:
            path: The path, possibly with links.
            folder: The folder, without links.

        Returns:
            Where it leads, without links.

        Raises:
            SourceError: The operator does not allow it, or it cannot be resolved.
        """
        # A link that leads in a circle is left for its reader to refuse.
        target = Path(os.path.realpath(path))
        self.check_below(target, path, folder)
        return target

    def check_below(self, target: Path, path: Path, folder: Path) -> None:
        """Like :meth:`check_link`, for a path that has been resolved."""
        if not self._allowed and not target.is_relative_to(folder):
            name = visible(str(path))
            raise SourceError(
                f"{name} is a link that leads out of {visible(str(folder))}",
                expected="a file in the folder, or a link to something in it",
                where=name,
                remedy=f"put the file itself there, or have the operator allow the folders in {_DIRS}",
            )
        self.check_resolved(target, path)

    def check_resolved(self, target: Path, path: Path) -> None:
        """Like :meth:`check`, for a path that has been resolved."""
        name = visible(str(path))
        if self._secrets is not None and target.is_relative_to(self._secrets):
            raise SourceError(
                f"{name} is in the secrets folder, which tasks must not read or write",
                where=name,
                remedy=f"put data outside of {_SECRETS} ({self._secrets})",
            )
        if self._allowed and not any(target.is_relative_to(each) for each in self._allowed):
            raise SourceError(
                f"{name} is not in a folder that this process may use",
                expected=f"a file below {os.pathsep.join(map(str, self._allowed))}",
                where=name,
                remedy=f"move the data there, or add the folder to {_DIRS} of this process",
            )


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        name = visible(str(path))
        raise SourceError(f"{name} cannot be resolved: {error}", where=name) from error
