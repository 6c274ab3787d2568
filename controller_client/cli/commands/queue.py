"""See, stop, resume and delete the queues of minion tasks, and have the controller make tasks.

Each task type has a queue of its own. What FileIngestionTask does is seen by 'pinotctl task'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.commands.queue_waiting import waiting
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import confirm, dry_run_option, output_option, wait_options, yes_option
from controller_client.common.counted_text import counted_text
from controller_client.common.nearest import did_you_mean
from controller_client.common.waiting import wait_until
from controller_client.errors import NotFoundError, RejectedError

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = ["queue"]

_TYPE = click.argument("task_type", metavar="TASK_TYPE")


@click.group(help=__doc__)
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
            continue  # it was deleted a moment ago
    cli.out.table(("task_type", "state", "tasks", "by_state"), rows)


@queue.command()
@_TYPE
@wait_options("no task of it runs")
@dry_run_option
@output_option()
@pass_cli
def stop(cli: CliContext, task_type: str, wait: bool, timeout_s: float, dry_run: bool) -> None:
    """Stop a queue: its tasks are stopped, and no other begins before it is resumed."""
    _switch(cli, task_type, "STOPPED", wait, timeout_s, dry_run)


@queue.command()
@_TYPE
@wait_options("it works")
@dry_run_option
@output_option()
@pass_cli
def resume(cli: CliContext, task_type: str, wait: bool, timeout_s: float, dry_run: bool) -> None:
    """Let a stopped queue go on, with the tasks that were stopped."""
    _switch(cli, task_type, "IN_PROGRESS", wait, timeout_s, dry_run)


@queue.command()
@_TYPE
@click.option("--force", is_flag=True, help="Also while it is not stopped.")
@dry_run_option
@yes_option
@output_option()
@pass_cli
def delete(cli: CliContext, task_type: str, force: bool, dry_run: bool, yes: bool) -> None:
    """Delete a queue with all of its tasks; the next task of the type makes a new one."""
    tasks = cli.client().tasks
    _check(cli, task_type)
    state, count = tasks.queue_state(task_type), len(tasks.states(task_type))
    if state == "IN_PROGRESS" and not force:
        raise RejectedError(
            f"the queue of {task_type} is not stopped",
            remedy=f"stop it by 'pinotctl queue stop {task_type}', or pass --force",
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
@click.option("--type", "task_type", metavar="TASK_TYPE", help="Only this type; default: all.")
@click.option("--table", "table_name", metavar="TABLE", help="Only this table; default: all.")
@dry_run_option
@output_option()
@pass_cli
def schedule(cli: CliContext, task_type: str | None, table_name: str | None, dry_run: bool) -> None:
    """Have the controller make tasks now, as at the times of their schedules.

    It knows none of the types that only Python-hosted minions run: for these see 'pinotctl task run'. With
    --dry-run, the tables are named at which it would look; whether there is work for them it finds only then.
    """
    client = cli.client()
    table = table_with_type(client, table_name) if table_name else None
    if dry_run:
        found = _configured(client, task_type, [table] if table else client.tables.list_typed())
        texts = [f"{each} of {', '.join(tables)}" for each, tables in found.items()]
        cli.out.result(
            f"Would look for work: {'; '.join(texts) or 'no table has a config of such a task'}.",
            {"tables": found, "changed": False, "dry_run": True},
        )
        return
    made = client.tasks.schedule(task_type, table)
    names = [name for each in made.tasks.values() for name in each]
    for error in made.errors:
        cli.out.note(f"Error: {error}")
    cli.out.result(
        f"{counted_text(len(names), 'task')} made{': ' + ', '.join(names) if names else ''}.",
        {
            "tasks": {key: list(each) for key, each in made.tasks.items()},
            "errors": list(made.errors),
            "changed": bool(names),
            "dry_run": False,
        },
    )
    if made.errors:
        raise click.exceptions.Exit(1)


@queue.command()
@_TYPE
@click.argument("task_name", metavar="[TASK]", required=False)
@output_option()
@pass_cli
def debug(cli: CliContext, task_type: str, task_name: str | None) -> None:
    """Show the tasks of a type, or the subtasks of one of them with their minions and errors.

    JSON has Pinot's whole answer.
    """
    tasks = cli.client().tasks
    if task_name is not None:
        found = tasks.debug(task_name)
        if cli.out.is_json:
            cli.out.json(found)
            return
        rows = [
            (each.get("taskId"), each.get("state"), each.get("participant"), each.get("info"))
            for each in found.get("subtaskInfos") or ()
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
                each.get("taskState"),
                each.get("executionStartTime") or each.get("startTime"),
                (each.get("subtaskCount") or {}).get("total"),
                (each.get("subtaskCount") or {}).get("error"),
            )
            for name, each in sorted(all_tasks.items())
        ],
    )


def _switch(
    cli: CliContext, task_type: str, wanted: str, wait: bool, timeout_s: float, dry_run: bool
) -> None:
    client = cli.client()
    _check(cli, task_type)
    was = client.tasks.queue_state(task_type)
    said = f"The queue of {task_type} {'is stopped' if wanted == 'STOPPED' else 'works'}"
    record = {"task_type": task_type, "before": was, "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        change = "stopped" if wanted == "STOPPED" else "resumed"
        cli.out.result(f"The queue of {task_type} ({was}) would be {change}.", {**record, "state": was})
        return
    (client.tasks.stop if wanted == "STOPPED" else client.tasks.resume)(task_type)
    if not wait:
        cli.out.result(f"{said} in a moment.", {**record, "state": client.tasks.queue_state(task_type)})
        return

    def missing() -> str | None:
        state = client.tasks.queue_state(task_type)
        running = [name for name, each in client.tasks.states(task_type).items() if each == "IN_PROGRESS"]
        progress.update(done=len(running))
        if state == wanted and not (wanted == "STOPPED" and running):
            return None
        return f"the queue is {state}, {counted_text(len(running), 'task')} running"

    with cli.out.progress(f"Queue of {task_type}", unit="tasks run") as progress:
        wait_until(
            missing, what=f"the queue of {task_type}: {wanted}", timeout_s=timeout_s, clock=client.clock
        )
    cli.out.result(f"{said}.", {**record, "state": wanted})


def _configured(
    client: ControllerClient, task_type: str | None, tables: Sequence[str]
) -> dict[str, list[str]]:
    """Return the tables whose configs have a task, by its type."""
    found: dict[str, list[str]] = {}
    for table in tables:
        task = client.tables.get(table).task
        for each in task.task_type_configs_map if task else ():
            if task_type in (None, each):
                found.setdefault(each, []).append(table)
    return found


def _check(cli: CliContext, task_type: str) -> None:
    known = cli.client().tasks.types()
    if task_type not in known:
        raise NotFoundError(
            f"the task type {task_type} has no queue",
            where=cli.client().config.url,
            remedy=did_you_mean(task_type, known, otherwise="see 'pinotctl queue list'"),
        )
