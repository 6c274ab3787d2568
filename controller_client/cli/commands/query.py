"""Run a SQL query on a broker."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from controller_client.cli.arguments import key_values, read_stdin
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import output_option
from controller_client.cli.output import OutputFormat, cell_text
from controller_client.errors import ConfigError, PinotPluginError, QueryError

if TYPE_CHECKING:
    from controller_client.broker.client import QueryResult
    from controller_client.common.sql_text import SqlText

__all__ = ["query"]


@click.command()
@click.argument("sql")
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="A query option of Pinot; repeatable."
)
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), help="Seconds it may take."
)
@click.option(
    "--allow-partial", is_flag=True, help="Accept the answer although servers or segments are missing."
)
@click.option(
    "--upsert",
    is_flag=True,
    help="Answer for upsert tables at one version, through brokers without our hook.",
)
@output_option(OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.CSV)
@pass_cli
def query(
    cli: CliContext,
    sql: str,
    options: tuple[str, ...],
    timeout_s: float | None,
    allow_partial: bool,
    upsert: bool,
) -> None:
    """Run a SQL query on a broker.

    SQL is one statement, or '-' to read it from stdin. Without LIMIT, Pinot returns 10 rows. An answer with
    fewer servers or segments than asked is an error unless --allow-partial is given. With --upsert the
    options skipUpsert=true, asOfVersion=N and asOfTimestamp=MS apply.
    """
    text = read_stdin() if sql == "-" else sql
    if not text.strip():
        raise ConfigError("there is no SQL statement", expected="e.g. select * from flights limit 10")
    wanted = key_values(options, "--option")
    versions: Mapping[str, int] = {}
    if upsert:
        from controller_client.common.sql_text import SqlText
        from controller_client.upsert.queries import UpsertQueries

        cut = SqlText.of(text)
        with UpsertQueries(cli.broker(), cli.property_store()) as queries, _naming_tables(cli, cut):
            answer = queries.query(cut, options=wanted, timeout_s=timeout_s, allow_partial=allow_partial)
        result, versions = answer.result, answer.versions
    else:
        broker = cli.broker()
        with _naming_tables(cli, text):
            result = broker.query(text, options=wanted, timeout_s=timeout_s, allow_partial=allow_partial)
        versions = result.versions
    names = [column.name for column in result.columns]
    if cli.out.is_json:
        cli.out.json(
            {
                "columns": [asdict(column) for column in result.columns],
                "rows": result.rows,
                "stats": asdict(result.stats),
                **({"versions": dict(versions)} if upsert or versions else {}),
            }
        )
    elif cli.out.format is OutputFormat.CSV:
        cli.out.document(_csv(names, result))
    elif names:
        cli.out.table(names, result.rows)
    stats = result.stats
    cli.out.note(
        f"{len(result.rows)} rows in {stats.time_ms} ms; {stats.docs_scanned} of {stats.total_docs} docs "
        f"scanned; {stats.servers_responded} of {stats.servers_queried} servers answered"
    )
    for table, version in versions.items():
        cli.out.note(f"{table} at version {version}")


@contextmanager
def _naming_tables(cli: CliContext, sql: str | SqlText) -> Iterator[None]:
    """Name an unknown table and those with similar names: the broker's error does neither."""
    try:
        yield
    except QueryError as error:
        from controller_client.broker.client import UNKNOWN_TABLE
        from controller_client.common.sql_text import table_names

        # Without a controller that answers, the broker's words are all there is.
        with suppress(PinotPluginError):
            if UNKNOWN_TABLE in error.codes:
                tables = cli.client().tables
                for name in table_names(sql):
                    if not tables.exists(name):
                        named = tables.unknown(name)
                        error.message, error.remedy = named.message, named.remedy
                        break
        raise


def _csv(names: list[str], result: QueryResult) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([cell_text(value) for value in row] for row in result.rows)
    return text.getvalue()
