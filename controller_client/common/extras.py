"""Finds the extra of this project that contains a missing Python module, for error messages.

The extras are read from the installed metadata, so there is no second list to maintain.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from controller_client.errors import SetupError

__all__ = ["extra_for", "install_command", "missing_module"]

_PROJECT = "pinot-plugins"
_NOT_FOR_USERS = frozenset({"demo", "dev", "test"})
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+).*;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")

# Modules whose names differ from their distributions.
_DISTRIBUTIONS = {
    "aiohttp": "gcsfs",
    "azure": "adlfs",
    "botocore": "boto3",
    "confluent_kafka": "confluent-kafka",
    "google": "protobuf",
    "grpc": "grpcio",
    "jpype": "jpype1",
    "prompt_toolkit": "prompt-toolkit",
    "puresasl": "pure-sasl",
    "py4j": "pyspark",
}


def missing_module(error: ModuleNotFoundError, needed_by: str, extras: Sequence[str] = ()) -> SetupError:
    """Return the error for a missing module.

    Args:
        error: The error of the import.
        needed_by: What needs the module, e.g. ``the command serve``.
        extras: The extras that it declares; preferred if they contain the module.
    """
    return SetupError(
        f"{needed_by} needs the Python module {error.name}, which is not installed",
        remedy=install_command(extra_for(error.name or "", extras)),
    )


def install_command(extra: str | None) -> str:
    """Return the command to install this project, optionally with an extra."""
    return f"pip install '{_PROJECT}[{extra}]'" if extra else f"pip install {_PROJECT}"


def extra_for(module: str, declared: Sequence[str] = ()) -> str | None:
    """Return the extra to install for a module: the declared one, else the smallest that contains it.

    A declared extra is ignored if it lacks the module and others contain it; None: no extra contains it.
    """
    top = module.partition(".")[0]
    distribution = _DISTRIBUTIONS.get(top, top)
    bringing = [extra for extra, brought in _extras().items() if distribution in brought]
    fitting = [extra for extra in declared if extra in bringing or not bringing]
    if fitting:
        return ",".join(fitting)
    return min(bringing, key=lambda extra: len(_extras()[extra]), default=None)


@lru_cache(maxsize=1)
def _extras() -> Mapping[str, frozenset[str]]:
    """Return the distributions of each extra."""
    distributions: dict[str, set[str]] = {}
    for requirement in importlib.metadata.requires(_PROJECT) or ():
        match = _REQUIREMENT.match(requirement)
        if match and match["extra"] not in _NOT_FOR_USERS:
            distributions.setdefault(match["extra"], set()).add(match["name"].lower())
    return {extra: frozenset(brought) for extra, brought in distributions.items()}
