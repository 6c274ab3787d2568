"""Limits the folders reachable by ``file://`` to those allowed by this process's operator.

The author of a table config decides where files are read and staged. Without a limit, that could be anything
that this process's user may read and that has the form of data:

==============================  ==============================================================================
``PINOT_PLUGINS_FILE_DIRS``     allowed folders for ``file://``, separated as in ``PATH``; default: no
                                limit
``PINOT_PLUGINS_SECRETS_DIR``   never allowed: its files are only for references
==============================  ==============================================================================

Links are resolved first: the actual location of a file counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.visible_text import visible
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
        name = visible(str(path))
        try:
            found = path.resolve()
        except (OSError, RuntimeError) as error:
            raise SourceError(f"{name} cannot be resolved: {error}", where=name) from error
        if self._secrets is not None and found.is_relative_to(self._secrets):
            raise SourceError(
                f"{name} is in the secrets folder, which tasks must not read or write",
                where=name,
                remedy=f"put data outside of {_SECRETS} ({self._secrets})",
            )
        if self._allowed and not any(found.is_relative_to(each) for each in self._allowed):
            raise SourceError(
                f"{name} is not in a folder that this process may use",
                expected=f"a file below {os.pathsep.join(map(str, self._allowed))}",
                where=name,
                remedy=f"move the data there, or add the folder to {_DIRS} of this process",
            )
