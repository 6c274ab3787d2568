"""Values of references that others wrote, into a table config or a job: what this process' operator allows.

Whoever writes a table config decides where a minion connects to, and with what as its key: a reference to any
variable or file of the minion would hand it to them. So a process resolves no more than what its operator set
aside for this:

==============================  ==============================================================================
``PINOT_PLUGINS_SECRETS_ENV``   beginnings of the variables that ``${env:NAME}`` may name, separated by
                                commas; ``PINOT_SECRET_`` without it, no variable at all where it is empty
``PINOT_PLUGINS_SECRETS_DIR``   folder that ``${file:PATH}`` reads from, links out of it excluded; no file at
                                all without it
==============================  ==============================================================================
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.references import has_reference, read_value, replaced
from controller_client.common.visible_text import visible
from controller_client.errors import ConfigError

__all__ = ["DEFAULT_PREFIX", "OperatorSecrets", "resolve_option", "resolve_options"]

_ENV, _DIR = "PINOT_PLUGINS_SECRETS_ENV", "PINOT_PLUGINS_SECRETS_DIR"
DEFAULT_PREFIX = "PINOT_SECRET_"
"""How the names of variables begin that references may name, unless the operator says otherwise."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_BYTES = 64 * 1024


class OperatorSecrets:
    """A lookup in what the operator of this process allows.

    Args:
        environ: Instead of the process' environment.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if environ is None else environ
        beginnings = self._env.get(_ENV, DEFAULT_PREFIX).split(",")
        self._prefixes = tuple(each.strip() for each in beginnings if each.strip())
        self._folder = self._env.get(_DIR) or None

    def __repr__(self) -> str:
        return f"OperatorSecrets(prefixes={self._prefixes!r}, folder={self._folder!r})"

    def variable(self, name: str) -> str:
        """Return the value of a variable whose name begins as it must.

        Raises:
            ConfigError: It does not, or the variable is not set, or it is empty.
        """
        if not self._prefixes:
            raise ConfigError(
                "this process gives no variables to references",
                remedy=f"set {_ENV} in its environment to how their names begin",
            )
        allowed = " or ".join(self._prefixes)
        if not _NAME.fullmatch(name) or not name.startswith(self._prefixes):
            raise ConfigError(
                f"the variable {visible(name)} is not one that references may name",
                expected=f"a name that begins with {allowed}",
                remedy=f"name the variable so, or set {_ENV} for this process",
            )
        value = self._env.get(name)
        if not value:
            raise ConfigError(
                f"the variable {name} is not set", remedy="set it in the environment of this process"
            )
        return value

    def file(self, path: str) -> str:
        """Return the content of a file in the folder of secrets.

        Raises:
            ConfigError: It is not in there, or there is no such folder, or it cannot be read.
        """
        if self._folder is None:
            raise ConfigError(
                "this process gives no files to references",
                remedy=f"set {_DIR} in its environment to the folder with the files of secrets",
            )
        name = visible(path)
        try:
            folder = Path(self._folder).resolve()
            found = (folder / path).resolve()
            inside = found.is_relative_to(folder)
            # A pipe or a device would be waited for.
            is_file = inside and found.is_file()
        except (OSError, ValueError, RuntimeError):
            inside = is_file = False
        if not inside:
            raise ConfigError(
                f"the file {name} is not one that references may name",
                expected=f"a file in {self._folder}",
                remedy=f"put it there, or set {_DIR} for this process",
            )
        if not is_file:
            raise ConfigError(
                f"there is no file {name} in {self._folder}", remedy="put the file there, on this machine"
            )
        value = read_value(found, name, _MAX_BYTES)
        if not value:
            raise ConfigError(
                f"the file {name} in {self._folder} is empty", remedy="write the secret into it"
            )
        return value


def resolve_options(
    options: Mapping[str, str], prefix: str = "", secrets: OperatorSecrets | None = None
) -> dict[str, str]:
    """Copy options with their references replaced; each value is asked for now, so call it at use.

    Args:
        options: By name, as somebody wrote them.
        prefix: What stands before the names, for the error.
        secrets: Where to look.

    Raises:
        ConfigError: As of :func:`resolve_option`.
    """
    return {name: resolve_option(f"{prefix}{name}", text, secrets) for name, text in options.items()}


def resolve_option(option: str, text: str, secrets: OperatorSecrets | None = None) -> str:
    """Return an option's text with its references replaced; blanks around references are left out.

    Args:
        option: Its name, for the error.
        text: As somebody wrote it.
        secrets: Where to look.

    Raises:
        ConfigError: A reference cannot be resolved; names the option, the reference, and where it was looked
            for.
    """
    if has_reference(text):
        text = text.strip()
    try:
        return replaced(text, secrets or OperatorSecrets())
    except ConfigError as error:
        raise ConfigError(
            f"{option} refers to what cannot be resolved: {error.message}",
            expected=error.expected,
            where=f"process {os.getpid()} on {socket.gethostname()}",
            remedy=error.remedy,
        ) from None
