"""Which folders of this machine ``file://`` reaches: what this process' operator allows.

Whoever writes a table config says where files are read and staged. Without a bound that is whatever the user
of this process may read, as far as it has the form of data:

==============================  ==============================================================================
``PINOT_PLUGINS_FILE_DIRS``     folders that ``file://`` may be in, separated as in ``PATH``; anywhere without
                                it
``PINOT_PLUGINS_SECRETS_DIR``   never in there: its files are for references alone
==============================  ==============================================================================

Links are followed first: what counts is where a file lies.
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
    """Tells whether a path may be used.

    Args:
        environ: Instead of the process' environment.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        env = os.environ if environ is None else environ
        self._allowed = tuple(Path(each).resolve() for each in env.get(_DIRS, "").split(os.pathsep) if each)
        secrets = env.get(_SECRETS)
        self._secrets = Path(secrets).resolve() if secrets else None

    @property
    def are_bounded(self) -> bool:
        """Whether there is any path that may not be used."""
        return bool(self._allowed) or self._secrets is not None

    def check(self, path: Path) -> None:
        """Refuse a path that may not be used.

        Raises:
            SourceError: It is none that the operator allows, or cannot be followed.
        """
        if not self.are_bounded:
            return
        name = visible(str(path))
        try:
            found = path.resolve()
        except (OSError, RuntimeError) as error:
            raise SourceError(f"{name} cannot be followed: {error}", where=name) from error
        if self._secrets is not None and found.is_relative_to(self._secrets):
            raise SourceError(
                f"{name} is in the folder of secrets, which no task reads or writes",
                where=name,
                remedy=f"put data elsewhere than in {_SECRETS} ({self._secrets})",
            )
        if self._allowed and not any(found.is_relative_to(each) for each in self._allowed):
            raise SourceError(
                f"{name} is in no folder that this process may use",
                expected=f"a file below {os.pathsep.join(map(str, self._allowed))}",
                where=name,
                remedy=f"put data there, or add the folder to {_DIRS} of this process",
            )
