"""``pinotctl task``: register FileIngestionTask with a table, run it, watch it."""

from __future__ import annotations

from pathlib import Path

import click

from controller_client.clock import SystemClock
from controller_client.common.redaction import is_secret
from controller_client.common.references import is_reference, shown
from controller_client.errors import ConfigError, NotFoundError
from controller_client.zookeeper import TableLock, process_name
from minion_tasks.file_ingestion.params.registration import (
    check_table,
    load_params,
    offline_table,
    register_task,
)
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams
from minion_tasks.file_ingestion.run.trigger import run_task
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.progress import SessionProgress, read_progress
from minion_tasks.file_ingestion.session.store import SessionStore
from pinotctl.arguments import key_values, read_json_object
from pinotctl.commands.task_plan import plan, purge
from pinotctl.commands.task_rejected import discard, publish
from pinotctl.commands.task_report import show_report
from pinotctl.commands.task_session import session
from pinotctl.commands.task_tools import run_tools, show_progress
from pinotctl.commands.task_versions import follow, rollback, versions
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import table_argument
from pinotctl.options import (
    confirm,
    dry_run_option,
    output_option,
    spark_conf,
    spark_options,
    yes_option,
)

_IDLE_POLLS = 2
"""More than one, because a run releases its lock before its session is read again."""


@click.group(cls=CommandGroup)
def task() -> None:
    """Register and run FileIngestionTask, and inspect its sessions."""


for _command in (session, plan, purge, publish, discard, versions, rollback, follow):
    task.add_command(_command)


@task.command()
@table_argument("table")
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file with the parameters as one object of strings.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one parameter; overrides --file."
)
@dry_run_option
@output_option()
@pass_cli
def register(
    cli: CliContext, table: str, file: Path | None, settings: tuple[str, ...], dry_run: bool
) -> None:
    """Add the task to the table's config after checking every parameter.

    Write secrets as references, ${env:NAME} or ${file:PATH}; the processes that run the task resolve them.
    A secret in clear text belongs in --file, not on the command line.
    """
    configs = _read_configs(file, settings)
    params = FileIngestionParams.from_configs(configs)
    name = offline_table(cli.client(), table)
    check_table(cli.client(), cli.client().tables.get(name), params)
    if params.clear_state:
        cli.out.note(
            "clearConsistentPushState is true: until you remove it, every run discards what earlier runs"
            " staged; to do so only once, use 'pinotctl task session clear'"
        )
    clear = [key for key, value in configs.items() if is_secret(key, value) and not is_reference(value)]
    if clear:
        cli.out.note(
            f"the table config contains {', '.join(clear)} in clear text, readable by everyone who can read"
            " the config: write a reference such as ${env:PINOT_SECRET_NAME} instead"
        )
    if params.schedule is not None:
        from jvm_bridge.cron import CronSchedule

        CronSchedule(params.schedule)
    if dry_run:
        cli.out.note(f"{name} would get this {TASK_TYPE}:")
    else:
        configs = dict(register_task(cli.client().tables, name, configs))
        cli.out.note(f"{TASK_TYPE} is registered with {name}")
    cli.out.record(shown(configs))


@task.command()
@table_argument("table")
@yes_option
@dry_run_option
@output_option()
@pass_cli
def unregister(cli: CliContext, table: str, yes: bool, dry_run: bool) -> None:
    """Remove the task from the table's config; ingested segments stay."""
    name = offline_table(cli.client(), table)
    load_params(cli.client(), name)
    record = {"table": name, "task": TASK_TYPE, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"{TASK_TYPE} would be removed from the config of {name}", record)
        return
    confirm(f"Remove {TASK_TYPE} from the config of {name}?", yes=yes)
    cli.client().tables.set_task_config(name, TASK_TYPE, None)
    cli.out.result(f"{TASK_TYPE} is no longer registered with {name}", record)


@task.command()
@table_argument("table")
@output_option()
@pass_cli
def show(cli: CliContext, table: str) -> None:
    """Show the task's parameters, with references unresolved and secrets masked."""
    name = offline_table(cli.client(), table)
    configs = cli.client().tables.get(name).task_config(TASK_TYPE)
    if configs is None:
        raise NotFoundError(f"{name} has no {TASK_TYPE}", remedy="add one with 'pinotctl task register'")
    cli.out.record(shown(configs))


@task.command()
@table_argument("table")
@click.option(
    "--wait-lock",
    "lock_wait_s",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Seconds to wait for another run of the table to end.",
)
@spark_options
@output_option()
@pass_cli
def run(
    cli: CliContext, table: str, lock_wait_s: float, spark_master: str | None, spark_settings: tuple[str, ...]
) -> None:
    """Ingest the source into the table and wait until that is done."""
    conf = spark_conf(spark_master, spark_settings)
    with cli.out.progress("reading files", unit="files") as progress:
        report = run_task(run_tools(cli, progress, conf=conf), table, lock_wait_s=lock_wait_s)
    show_report(cli, report)


@task.command()
@table_argument("table")
@click.option("--follow/--once", default=True, help="Watch until the session ends, or show it once.")
@output_option()
@pass_cli
def watch(cli: CliContext, table: str, follow: bool) -> None:
    """Show the progress of the table's last session: files, rows and bytes of each subtask."""
    name = offline_table(cli.client(), table)
    store = cli.property_store()
    sessions = SessionStore(store, name)
    lock = TableLock(store, name, TASK_TYPE, process_name())
    clock = SystemClock()
    idle_polls = 0
    with cli.out.progress("reading files", unit="files") as progress:
        while True:
            latest = sessions.latest()
            if latest is None:
                raise NotFoundError(
                    f"{name} has had no session yet", remedy="start one with 'pinotctl task run'"
                )
            now = read_progress(sessions, latest)
            show_progress(progress, now)
            if not follow or not latest.is_open or latest.state is SessionState.REJECTED:
                break
            idle_polls = 0 if lock.holder() else idle_polls + 1
            if idle_polls == _IDLE_POLLS:
                cli.out.note(f"no run of {name} is in progress; the next one resumes the session")
            clock.sleep(1.0)
    _show_progress(cli, now)


def _show_progress(cli: CliContext, now: SessionProgress) -> None:
    session = now.session
    state = f"{session.state} (abandoned)" if session.abandoned else session.state.value
    cli.out.note(f"session {session.session_id} of {session.table}: {state}")
    if session.message:
        cli.out.note(session.message)
    if session.state is SessionState.INIT and not session.abandoned:
        cli.out.note("the plan is still being written; no subtask has started")
    cli.out.table(
        ["subtask", "files", "staged", "failed", "rows", "bytes_read", "bytes_total", "first_error"],
        [
            [g.group, g.files, g.staged, g.failed, g.rows, g.bytes_read, g.bytes_total, g.first_error]
            for g in now.groups
        ],
    )


def _read_configs(file: Path | None, settings: tuple[str, ...]) -> dict[str, str]:
    configs: dict[str, str] = {}
    if file is not None:
        with file.open(encoding="utf-8") as opened:
            content = read_json_object(opened)
        if not all(isinstance(value, str) for value in content.values()):
            raise ConfigError(
                f"{file} does not contain a JSON object of strings", expected='{"inputDirURI": "s3://…", …}'
            )
        configs.update(content)
    return configs | key_values(settings, "--set")
