"""Show, stop, resume and delete the queues of minion tasks, and have the controller schedule tasks.

Each task type has its own queue. For FileIngestionTask see 'pinotctl task'.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from controller_client.common.text import counted_text, did_you_mean
from controller_client.common.waiting import wait_until
from controller_client.errors import NotFoundError, RejectedError
from pinotctl.arguments import table_with_type
from pinotctl.commands.queue_waiting import waiting
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import confirm, dry_run_option, output_option, wait_options, yes_option

if TYPE_CHECKING:
    from controller_client.models import TableConfig

__all__ = ["queue"]

_TYPE = click.argument("task_type", metavar="TASK_TYPE")


@click.group(help=__doc__, cls=CommandGroup)
def queue() -> None:  # noqa: D103  # help is the module's docstring
    pass


queue.add_command(waiting)


@queue.command(name="list")
@output_option()
@pass_cli
def list_(cli: CliContext) -> None:
    """List the queues with their states, and how many tasks are in each state."""
    tasks = cli.client().tasks
    rows = []
    for task_type in tasks.types():
        states = list(tasks.states(task_type).values())
        counts = {state.lower(): states.count(state) for state in sorted(set(states))}
        try:
            rows.append((task_type, tasks.queue_state(task_type), len(states), counts))
        except NotFoundError:
            continue  # it has just been deleted
    cli.out.table(("task_type", "state", "tasks", "by_state"), rows)


@queue.command()
@_TYPE
@wait_options("none of its tasks runs")
@dry_run_option
@output_option()
@pass_cli
def stop(cli: CliContext, task_type: str, wait: bool, timeout_s: float, dry_run: bool) -> None:
    """Stop a queue: running tasks are stopped, and no task starts until the queue is resumed."""
    _switch(cli, task_type, "STOPPED", wait, timeout_s, dry_run)


@queue.command()
@_TYPE
@wait_options("it is running")
@dry_run_option
@output_option()
@pass_cli
def resume(cli: CliContext, task_type: str, wait: bool, timeout_s: float, dry_run: bool) -> None:
    """Resume a stopped queue, including the tasks that were stopped."""
    _switch(cli, task_type, "IN_PROGRESS", wait, timeout_s, dry_run)


@queue.command()
@_TYPE
@click.option("--force", is_flag=True, help="Delete the queue even if it is not stopped.")
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(cli: CliContext, task_type: str, force: bool, dry_run: bool, yes: bool) -> None:
    """Delete a queue with all its tasks; the next task of the type creates a new queue."""
    tasks = cli.client().tasks
    _check(cli, task_type)
    state, count = tasks.queue_state(task_type), len(tasks.states(task_type))
    if state == "IN_PROGRESS" and not force:
        raise RejectedError(
            f"the queue of {task_type} is not stopped",
            remedy=f"run 'pinotctl queue stop {task_type}' first, or pass --force",
        )
    what = f"the queue of {task_type} with {counted_text(count, 'task')}"
    record = {"task_type": task_type, "tasks": count, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"Would delete {what}.", record)
        return
    confirm(f"Delete {what} at {cli.client().config.url}?", yes=yes)
    tasks.delete_queue(task_type, force=force)
    cli.out.result(f"Deleted {what}.", record)


@queue.command()
@click.option("--type", "task_type", metavar="TASK_TYPE", show_default="all", help="Only this task type.")
@click.option("--table", "table_name", metavar="TABLE", show_default="all", help="Only this table.")
@dry_run_option
@output_option()
@pass_cli
def schedule(cli: CliContext, task_type: str | None, table_name: str | None, dry_run: bool) -> None:
    """Have the controller schedule tasks now, as it does at their scheduled times.

    The controller does not know the task types that only Python-hosted minions run; for those see 'pinotctl
    task run'. --dry-run lists the tables that the controller would check; whether they have work is known
    only when it schedules them.
    """
    client = cli.client()
    table = table_with_type(client, table_name) if table_name else None
    if dry_run:
        configs = client.tables.all_in_use()
        tables_by_type = _configured(task_type, [(table, client.tables.in_use(table))] if table else configs)
        texts = [f"{name} of {', '.join(tables)}" for name, tables in tables_by_type.items()]
        cli.out.result(
            f"Would check for work: {'; '.join(texts) or 'no table has such a task in its config'}.",
            {"tables": tables_by_type, "changed": False, "dry_run": True},
        )
        return
    scheduled = client.tasks.schedule(task_type, table)
    names = [name for tasks in scheduled.tasks.values() for name in tasks]
    for error in scheduled.errors:
        cli.out.note(f"Error: {error}")
    cli.out.result(
        f"Scheduled {counted_text(len(names), 'task')}{': ' + ', '.join(names) if names else ''}.",
        {
            "tasks": {key: list(tasks) for key, tasks in scheduled.tasks.items()},
            "errors": list(scheduled.errors),
            "changed": bool(names),
            "dry_run": False,
        },
    )
    if scheduled.errors:
        raise click.exceptions.Exit(1)


@queue.command()
@_TYPE
@click.argument("task_name", metavar="[TASK]", required=False)
@output_option()
@pass_cli
def debug(cli: CliContext, task_type: str, task_name: str | None) -> None:
    """Show the tasks of a type, or the subtasks of one task with their minions and errors.

    With --output json: Pinot's complete response.
    """
    tasks = cli.client().tasks
    if task_name is not None:
        response = tasks.debug(task_name)
        if cli.out.is_json:
            cli.out.json(response)
            return
        rows = [
            (subtask.get("taskId"), subtask.get("state"), subtask.get("participant"), subtask.get("info"))
            for subtask in response.get("subtaskInfos") or ()
        ]
        cli.out.table(("subtask", "state", "minion", "message"), rows)
        return
    _check(cli, task_type)
    all_tasks = tasks.debug_type(task_type)
    if cli.out.is_json:
        cli.out.json(all_tasks)
        return
    cli.out.table(
        ("task", "state", "started", "subtasks", "failed"),
        [
            (
                name,
                task.get("taskState"),
                task.get("executionStartTime") or task.get("startTime"),
                (task.get("subtaskCount") or {}).get("total"),
                (task.get("subtaskCount") or {}).get("error"),
            )
            for name, task in sorted(all_tasks.items())
        ],
    )


def _switch(
    cli: CliContext, task_type: str, target_state: str, wait: bool, timeout_s: float, dry_run: bool
) -> None:
    client = cli.client()
    _check(cli, task_type)
    was = client.tasks.queue_state(task_type)
    change = "stopped" if target_state == "STOPPED" else "resumed"
    record = {"task_type": task_type, "before": was, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        cli.out.result(f"The queue of {task_type} ({was}) would be {change}.", {**record, "state": was})
        return
    (client.tasks.stop if target_state == "STOPPED" else client.tasks.resume)(task_type)
    if not wait:
        state = client.tasks.queue_state(task_type)
        cli.out.result(f"The queue of {task_type} is being {change}.", {**record, "state": state})
        return

    def missing() -> str | None:
        state = client.tasks.queue_state(task_type)
        running = [name for name, each in client.tasks.states(task_type).items() if each == "IN_PROGRESS"]
        progress.update(done=len(running))
        if state == target_state and not (target_state == "STOPPED" and running):
            return None
        return f"the queue is {state}, {counted_text(len(running), 'task')} running"

    with cli.out.progress(f"Queue of {task_type}", unit="running tasks") as progress:
        wait_until(
            missing,
            what=f"the queue of {task_type} to be {target_state}",
            timeout_s=timeout_s,
            clock=client.clock,
        )
    cli.out.result(f"The queue of {task_type} is {change}.", {**record, "state": target_state})


def _configured(task_type: str | None, configs: Iterable[tuple[str, TableConfig]]) -> dict[str, list[str]]:
    """Return the tables whose configs contain tasks, by task type."""
    tables: dict[str, list[str]] = {}
    for table, config in configs:
        task = config.task
        for each in task.task_type_configs_map if task else ():
            if task_type in (None, each):
                tables.setdefault(each, []).append(table)
    return tables


def _check(cli: CliContext, task_type: str) -> None:
    task_types = cli.client().tasks.types()
    if task_type not in task_types:
        raise NotFoundError(
            f"there is no queue for the task type {task_type}",
            where=cli.client().config.url,
            remedy=did_you_mean(task_type, task_types, otherwise="see 'pinotctl queue list'"),
        )
