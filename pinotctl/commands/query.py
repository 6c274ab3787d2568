"""Run a SQL query on a broker."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from controller_client.errors import ConfigError
from pinotctl.arguments import key_values, read_stdin, read_text
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import output_option
from pinotctl.output import Output, OutputFormat
from pinotctl.querying.parameters import params_of, read_params
from pinotctl.querying.running import QueryRunner, QuerySettings
from pinotctl.querying.writing import check_target, format_of, note_of, write, written_to

__all__ = ["query"]


@click.command()
@click.argument("sql", required=False)
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="Read statements from a file; each ends with a semicolon.",
)
@click.option(
    "--param",
    "param_pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of the placeholder :NAME: a JSON number, true, false, quoted string or list; anything else is"
    " text. Repeatable.",
)
@click.option("--shell", is_flag=True, help="Prompt for statements, as without SQL on a terminal.")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the rows to a file. Without --output, its ending determines the format: .csv, .json, .jsonl"
    " or .parquet; otherwise it is a table.",
)
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="Query option of Pinot. Repeatable."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    show_default="the broker's limit",
    help="Seconds that a statement may take.",
)
@click.option("--allow-partial", is_flag=True, help="Accept an answer with missing servers or segments.")
@click.option(
    "--upsert",
    is_flag=True,
    help="Query upsert tables at one consistent version through brokers that lack this project's hook.",
)
@output_option(*OutputFormat)
@pass_cli
@click.pass_context
def query(
    context: click.Context,
    cli: CliContext,
    sql: str | None,
    file: Path | None,
    param_pairs: tuple[str, ...],
    shell: bool,
    target: Path | None,
    options: tuple[str, ...],
    timeout_s: float | None,
    allow_partial: bool,
    upsert: bool,
) -> None:
    """Run a SQL query on a broker.

    SQL is one statement, or '-' to read it from stdin. Without SQL, a shell prompts for statements if it runs
    on a terminal. Without LIMIT, Pinot returns 10 rows. An answer that lacks servers or segments is an error
    unless --allow-partial is given. With --upsert, the options skipUpsert=true, asOfVersion=N and
    asOfTimestamp=MS are available.
    """
    params = read_params(param_pairs)
    settings = QuerySettings(key_values(options, "--option"), timeout_s, allow_partial, upsert)
    if shell or (sql is None and file is None and sys.stdin.isatty() and sys.stdout.isatty()):
        if sql is not None or file is not None or target is not None:
            raise ConfigError(
                "--shell prompts for statements itself", expected="no SQL, no --file and no --to"
            )
        _run_shell(cli, settings, params)
        return
    statements = _statements(sql, file)
    by_default = context.get_parameter_source("output") is ParameterSource.DEFAULT
    out = Output(format_of(target, None if by_default else cli.out.format))
    check_target(out.format, len(statements), target)
    with QueryRunner(cli, settings) as runner:
        answers = []
        for statement, own in zip(statements, params_of(statements, params), strict=True):
            answers.append(runner.run(statement, own))
    with written_to(target):
        write(out, answers, versions=upsert)
    for answer in answers:
        for line in note_of(answer):
            cli.out.note(line)


def _statements(sql: str | None, file: Path | None) -> list[str]:
    if (sql is None) == (file is None):
        raise ConfigError(
            "no SQL was given" if sql is None else "both SQL and --file were given",
            expected="SQL, '-' to read it from stdin, or --file FILE",
        )
    if file is not None:
        from controller_client.common.sql_text import statements

        sql_statements = statements(read_text(file))
    else:
        sql_statements = [text] if (text := read_stdin() if sql == "-" else str(sql)).strip() else []
    if not sql_statements:
        raise ConfigError("the SQL contains no statement", expected="e.g. select * from flights limit 10")
    return sql_statements


def _run_shell(cli: CliContext, settings: QuerySettings, params: Mapping[str, Any]) -> None:
    from pinotctl.querying.shell import run_shell

    run_shell(cli, settings, params)
