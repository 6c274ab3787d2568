"""Arguments that are names of the cluster's objects, with shell completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pinotctl.completion import (
    complete_instances,
    complete_schemas,
    complete_segments,
    complete_tables,
    complete_tenants,
)

__all__ = [
    "instance_argument",
    "schema_argument",
    "segment_argument",
    "table_argument",
    "tenant_argument",
]

Decorator = Callable[[Any], Any]


def table_argument(name: str = "table_name", *, metavar: str = "TABLE", **rest: Any) -> Decorator:
    """Decorator that adds an argument for one table, or with ``nargs=-1`` for several.

    Args:
        name: Name of the command's parameter.
        metavar: Name that the help shows.
        rest: Further parameters of :func:`click.argument`.
    """
    return click.argument(name, metavar=metavar, shell_complete=complete_tables, **rest)


def segment_argument(name: str = "segment_name", *, metavar: str = "SEGMENT", **rest: Any) -> Decorator:
    """The same for segments of the table named before."""
    return click.argument(name, metavar=metavar, shell_complete=complete_segments, **rest)


def schema_argument(name: str = "name", **rest: Any) -> Decorator:
    """The same for schemas."""
    return click.argument(name, shell_complete=complete_schemas, **rest)


def tenant_argument(name: str = "name", **rest: Any) -> Decorator:
    """The same for tenants."""
    return click.argument(name, shell_complete=complete_tenants, **rest)


def instance_argument(name: str = "name", **rest: Any) -> Decorator:
    """The same for instances."""
    return click.argument(name, shell_complete=complete_instances, **rest)
