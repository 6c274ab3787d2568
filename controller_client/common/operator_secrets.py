"""Resolves references in table configs, jobs and folders of files, limited to what the operator allows.

The author of a table config decides where a minion connects to and which credentials it sends, so an
unrestricted reference to a variable or file of the minion would disclose it. A process therefore resolves
only what its operator has set aside for this:

==============================  ==============================================================================
``PINOT_PLUGINS_SECRETS_ENV``   comma-separated prefixes of the variables that ``${env:NAME}`` may use;
                                default: ``PINOT_SECRET_``; empty: no variables
``PINOT_PLUGINS_SECRETS_DIR``   folder that ``${file:PATH}`` reads from, excluding links out of it; default:
                                no files
==============================  ==============================================================================

Whatever the prefixes are, the settings of this project and of Airflow, which have the cluster's own
credentials, are no values for references: of variables ``PINOT_*`` only ``PINOT_SECRET_*``, and no
``AIRFLOW_*``.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from controller_client.common.references import has_reference, read_value, replaced
from controller_client.common.text import visible
from controller_client.errors import ConfigError

__all__ = [
    "DEFAULT_PREFIX",
    "OperatorSecrets",
    "UnsetError",
    "observe_values",
    "observed",
    "resolve_option",
    "resolve_options",
]

_ENV, _DIR = "PINOT_PLUGINS_SECRETS_ENV", "PINOT_PLUGINS_SECRETS_DIR"
DEFAULT_PREFIX = "PINOT_SECRET_"
"""Default prefix of variables that references may use."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEVER = ("PINOT_", "AIRFLOW_")
_MAX_BYTES = 1024 * 1024
_observers: dict[Callable[[str], object], None] = {}


def observe_values(observer: Callable[[str], object]) -> None:
    """Have a function called with each value that this process looks up from now on.

    Args:
        observer: E.g. masks the value in a log. It is called in the thread that looks the value up, and
            registered once, however often this is called.
    """
    _observers[observer] = None


def observed(value: str) -> str:
    """Return a value of a reference, after the observers have seen it."""
    for observer in tuple(_observers):
        observer(value)
    return value


class UnsetError(ConfigError):
    """A reference that is allowed has no value in this process."""


class OperatorSecrets:
    """A lookup restricted to what the operator of this process allows.

    Args:
        environ: Used instead of the process's environment.
        prefixes: Further prefixes of variables that the operator allows.
        folder: Folder of files if the operator has not set one; its hidden files are not allowed.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        prefixes: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        self._env = os.environ if environ is None else environ
        allowed = (*self._env.get(_ENV, DEFAULT_PREFIX).split(","), *prefixes)
        self.prefixes = tuple(each.strip() for each in allowed if each.strip())
        """Prefixes of the variables that references may use."""
        own = self._env.get(_DIR) or None
        self._folder = own or (None if folder is None else str(folder))
        self._allows_hidden = own is not None

    def __repr__(self) -> str:
        return f"OperatorSecrets(prefixes={self.prefixes!r}, folder={self._folder!r})"

    def variable(self, name: str) -> str:
        """Return the value of an allowed variable.

        Raises:
            UnsetError: The variable is not set, or empty.
            ConfigError: The variable is not allowed.
        """
        if not self.prefixes:
            raise ConfigError(
                "this process does not allow references to variables",
                remedy=f"set {_ENV} in its environment to the prefixes of the allowed names",
            )
        if name.startswith(_NEVER) and not name.startswith(DEFAULT_PREFIX):
            raise ConfigError(
                f"references may not use the variable {visible(name)}: such names are settings of a process",
                expected=f"a name that starts with {DEFAULT_PREFIX}, or with neither {' nor '.join(_NEVER)}",
                remedy="rename it in the environment and in the references to it",
            )
        allowed = " or ".join(self.prefixes)
        if not _NAME.fullmatch(name) or not name.startswith(self.prefixes):
            raise ConfigError(
                f"references may not use the variable {visible(name)}",
                expected=f"a name that starts with {allowed}",
                remedy=f"rename the variable, or set {_ENV} for this process",
            )
        value = self._env.get(name)
        if not value:
            raise UnsetError(
                f"the variable {name} is not set", remedy="set it in the environment of this process"
            )
        return observed(value)

    def file(self, path: str) -> str:
        """Return the content of a file in the folder of secrets.

        Raises:
            UnsetError: There is no such file in the folder, or it is empty.
            ConfigError: The file is not in the folder, the folder does not exist, or the file cannot be read.
        """
        if self._folder is None:
            raise ConfigError(
                "this process does not allow references to files",
                remedy=f"set {_DIR} in its environment to the folder with the secret files",
            )
        name = visible(path)
        try:
            folder = Path(self._folder).resolve()
            file = (folder / path).resolve()
            inside = file.is_relative_to(folder) and self._is_allowed(file.relative_to(folder))
            # Reading a pipe or a device would block.
            is_file = inside and file.is_file()
        except (OSError, ValueError, RuntimeError):
            inside = is_file = False
        if not inside:
            raise ConfigError(
                f"references may not use the file {name}",
                expected=f"a file in {self._folder}",
                remedy=f"move it there, or set {_DIR} for this process",
            )
        if not is_file:
            raise UnsetError(
                f"there is no file {name} in {self._folder}", remedy="put the file there, on this machine"
            )
        value = read_value(file, name, _MAX_BYTES)
        if not value:
            raise UnsetError(f"the file {name} in {self._folder} is empty", remedy="write the secret into it")
        return observed(value)

    def _is_allowed(self, file: Path) -> bool:
        # A folder in a checkout may have credentials in .git/config. A mounted ConfigMap has its files in
        # a folder "..2026_11_28".
        hidden = (part.startswith(".") and not part.startswith("..") for part in file.parts)
        return self._allows_hidden or not any(hidden)


def resolve_options(
    options: Mapping[str, str], prefix: str = "", secrets: OperatorSecrets | None = None
) -> dict[str, str]:
    """Return options with their references replaced; values are read now, so call this when using them.

    Args:
        options: The options as written, by name.
        prefix: Prefix of the names, for the error.
        secrets: The lookup.

    Raises:
        ConfigError: See :func:`resolve_option`.
    """
    return {name: resolve_option(f"{prefix}{name}", text, secrets) for name, text in options.items()}


def resolve_option(option: str, text: str, secrets: OperatorSecrets | None = None) -> str:
    """Return an option's text with its references replaced; whitespace around references is stripped.

    Args:
        option: Its name, for the error.
        text: The text as written.
        secrets: The lookup.

    Raises:
        ConfigError: A reference cannot be resolved; the error names the option, the reference, and where it
            was looked up.
    """
    if has_reference(text):
        text = text.strip()
    try:
        return replaced(text, secrets or OperatorSecrets())
    except ConfigError as error:
        raise ConfigError(
            f"a reference in {option} cannot be resolved: {error.message}",
            expected=error.expected,
            where=f"process {os.getpid()} on {socket.gethostname()}",
            remedy=error.remedy,
        ) from None
