"""List and cancel running queries.

Brokers keep track of running queries if pinot.broker.enable.query.cancellation is true, the default since
Pinot 1.5.
"""

from __future__ import annotations

import click

from controller_client.errors import ConflictError, NotAppliedError, NotFoundError
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import dry_run_option, output_option

__all__ = ["queries"]


@click.group(help=__doc__, cls=CommandGroup)
def queries() -> None:  # noqa: D103  # help is the module's docstring
    pass


@queries.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the queries that the brokers run now (all brokers, or those of pinotctl's --broker option)."""
    found = cli.client().brokers.running_queries(cli.named_brokers())
    cli.out.table(("broker", "query", "sql"), [(each.broker_url, each.query_id, each.sql) for each in found])
    cli.out.note(f"{len(found):,} {'query' if len(found) == 1 else 'queries'} running.")


@queries.command()
@click.argument("query_id", metavar="QUERY")
@dry_run_option
@output_option()
@pass_cli
def cancel(cli: CliContext, query_id: str, dry_run: bool) -> None:
    """Have the servers end a query; QUERY is its number in the list.

    If no server has received the query yet, it continues, and the command fails.

    Each broker numbers its own queries: if two brokers use the same number, select one with pinotctl's
    --broker option.
    """
    client = cli.client()
    running = [
        query for query in client.brokers.running_queries(cli.named_brokers()) if query.query_id == query_id
    ]
    if not running:
        raise NotFoundError(f"no broker runs a query {query_id}", remedy="see 'pinotctl queries list'")
    if len(running) > 1:
        urls = ", ".join(query.broker_url for query in running)
        raise ConflictError(
            f"several brokers run a query {query_id}: {urls}", remedy="select one with --broker"
        )
    (query,) = running
    record = {
        "broker": query.broker_url,
        "query": query_id,
        "sql": query.sql,
        "changed": not dry_run,
        "dry_run": dry_run,
    }
    if dry_run:
        cli.out.result(f"Query {query_id} of {query.broker_url} would be cancelled: {query.sql}", record)
        return
    if not client.brokers.cancel_query(query.broker_url, query_id):
        raise NotAppliedError(
            f"query {query_id} continues: the broker asked its servers to end it, but none of them has it",
            where=query.broker_url,
            remedy="try again, or wait: the query ends when it finishes or its timeoutMs has passed",
        )
    cli.out.result(f"Asked the servers to end query {query_id} of {query.broker_url}.", record)
