"""What is said where an entry point's dependencies are not installed."""

from __future__ import annotations

import importlib.metadata

from controller_client.errors import SetupError

__all__ = ["missing_module"]


def missing_module(what: str, point: importlib.metadata.EntryPoint, error: ModuleNotFoundError) -> SetupError:
    """Make the error of an entry point that cannot be imported, with the extra that brings what it lacks.

    Args:
        what: Names what the entry point is, e.g. ``the command cluster``.
        point: The entry point; it names its extra as ``module:attribute [extra]``.
        error: What the import ended with.
    """
    distribution = point.dist.name if point.dist else "pinot-plugins"
    extras = ",".join(point.extras)
    target = f"'{distribution}[{extras}]'" if extras else distribution
    return SetupError(
        f"{what} needs the Python module {error.name}, which is not installed here",
        where=point.value,
        remedy=f"pip install {target}",
    )
