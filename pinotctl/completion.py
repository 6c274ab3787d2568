"""Shell completion with names from the cluster: within a time limit, or not at all."""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from pinotctl.context import CliContext

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = [
    "complete_instances",
    "complete_schemas",
    "complete_segments",
    "complete_tables",
    "complete_tenants",
]

_CONNECT_S, _READ_S = 1.0, 1.5
_LONGEST_S = 2.0
"""The user who pressed a key waits no longer than this, whatever the controller does."""

_TABLE_PARAMETERS = ("table_name", "table")

ShellComplete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Find = Callable[["ControllerClient", click.Context, str], Iterable[str]]


def _completing(find: Find) -> ShellComplete:
    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given = ctx.params.get(parameter.name or "") or ()
        there = set(given) if isinstance(given, tuple | list) else set()
        names = _in_time(lambda: list(_found(find, ctx, incomplete)))
        return [CompletionItem(name) for name in names if name.startswith(incomplete) and name not in there]

    return complete


def _in_time(find: Callable[[], list[str]]) -> list[str]:
    # The import takes time too, but a bounded amount: it does not depend on the network.
    importlib.import_module("controller_client.client")
    completions: list[str] = []

    def search() -> None:
        # If it fails there are no completions: a shell has nowhere to show an error.
        with suppress(Exception):
            completions.extend(find())

    # The process ends once it has its answer; a daemon thread does not keep it alive.
    thread = threading.Thread(target=search, daemon=True)
    thread.start()
    thread.join(_LONGEST_S)
    return [] if thread.is_alive() else completions


def _found(find: Find, ctx: click.Context, incomplete: str) -> Iterable[str]:
    from controller_client.client import ControllerClient
    from controller_client.common.retry import RetryPolicy

    root = ctx.find_root()
    # Commands are not run for a completion, so the global options have not been read yet.
    context = root.obj if isinstance(root.obj, CliContext) else CliContext()
    flags = {name: value for name, value in root.params.items() if name not in ("profile", "verbose")}
    context.configure(flags, root.params.get("profile"), 0)
    logging.disable(logging.CRITICAL)
    config = replace(
        context.controller_config(),
        connect_timeout_s=_CONNECT_S,
        read_timeout_s=_READ_S,
        retry=RetryPolicy(attempts=1),
    )
    with ControllerClient(config) as client:
        yield from find(client, ctx, incomplete)


def _tables(client: ControllerClient, _: click.Context, incomplete: str) -> Iterable[str]:
    names = client.tables.list()
    if any(name.startswith(incomplete) for name in names):
        return names
    # So that flights_O becomes flights_OFFLINE.
    return client.tables.list_typed()


def _segments(client: ControllerClient, ctx: click.Context, _: str) -> Iterable[str]:
    from pinotctl.arguments import table_with_type

    table = next((ctx.params[name] for name in _TABLE_PARAMETERS if ctx.params.get(name)), None)
    return client.segments.list(table_with_type(client, table)) if table else ()


def _tenants(client: ControllerClient, _: click.Context, __: str) -> Iterable[str]:
    tenants = client.tenants.list()
    return sorted({*tenants.server, *tenants.broker})


complete_tables = _completing(_tables)
"""Names of tables; once the name is complete, names with their types."""

complete_segments = _completing(_segments)
"""Names of the segments of the table named earlier on the command line."""

complete_schemas = _completing(lambda client, _, __: client.schemas.list())
"""Names of schemas."""

complete_tenants = _completing(_tenants)
"""Names of tenants."""

complete_instances = _completing(lambda client, _, __: client.instances.list())
"""Names of controllers, brokers, servers and minions."""
