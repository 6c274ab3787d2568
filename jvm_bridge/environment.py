"""Hides environment variables that may have a secret from the Java of a Pinot role.

A Pinot role returns its environment to anybody in ``GET /appconfigs``, and since 1.x writes it to its log. It
masks only variables whose names end in PASSWORD, TOKEN or SECRET, and it fills any variable into a table
config with the template ``${NAME}``. So Java does not see:

- the variables that references may use, see `common.operator_secrets`;
- those whose names or values look secret, such as ``AWS_SECRET_ACCESS_KEY``, or a URL with a password.

It sees those that say where a secret is, such as ``AWS_WEB_IDENTITY_TOKEN_FILE``, and those that the operator
names in ``PINOT_PLUGINS_JAVA_ENV``, separated by commas.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from controller_client.common.operator_secrets import OperatorSecrets
from controller_client.common.redaction import is_secret

__all__ = ["hidden_from_java", "keep_from_java"]

logger = logging.getLogger(__name__)

_ALLOWED = "PINOT_PLUGINS_JAVA_ENV"
_LOCATIONS = ("_FILE", "_DIR", "_PATH", "_URI", "_URL", "_ENV")
# The JVM itself reads it as it starts.
_OPTIONS = "JAVA_TOOL_OPTIONS"


def keep_from_java() -> None:
    """Hide the variables from the JVM, before it starts, and child processes; ``os.environ`` keeps them."""
    hidden = hidden_from_java(os.environ)
    for name in hidden:
        os.unsetenv(name)  # does not change os.environ, which is a copy
    if hidden:
        logger.info(
            "Java does not see %s: Pinot would show them to anybody. If Pinot needs one of them, set %s",
            ", ".join(hidden),
            _ALLOWED,
        )


def hidden_from_java(environ: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that Java must not see, sorted."""
    allowed = {name.strip() for name in environ.get(_ALLOWED, "").split(",")} | {_OPTIONS}
    prefixes = OperatorSecrets(environ).prefixes
    return sorted(
        name
        for name, value in environ.items()
        if name not in allowed and (name.startswith(prefixes) or _is_secret(name, value))
    )


def _is_secret(name: str, value: str) -> bool:
    is_file = os.path.isabs(value) and os.path.exists(value)  # noqa: PTH110, PTH117  # of any text
    is_location = is_file or name.endswith(_LOCATIONS)
    return is_secret("" if is_location else name, value)
