"""Make the cluster match a folder of files, or apply a saved plan."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from controller_client.as_code import Action, Applier, Plan, Step, load_plan
from controller_client.common.text import counted_text
from controller_client.errors import ConfigError
from pinotctl.commands.as_code.options import opened, plan_options
from pinotctl.commands.as_code.plan_view import show_plan
from pinotctl.context import CliContext, pass_cli
from pinotctl.options import confirm, dry_run_option, output_option, timeout_option, yes_option
from pinotctl.output import Progress

__all__ = ["apply"]


@click.command(
    help=f"{__doc__}\n\nShows the plan and asks before applying it. Reloads the segments that need it, and "
    "waits for them. If it is killed, run it again: finished steps are not repeated."
)
@click.argument("source", metavar="DIR|PLAN", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of a saved plan, if it has moved.",
)
@plan_options
@click.option(
    "--approve",
    "plan_id",
    metavar="ID",
    help="Apply the plan with this id, and no other, without asking.",
)
@timeout_option("Seconds to wait for each reload, pause and resume.", 600.0)
@click.option(
    "--wait-lock",
    "--lock-wait",
    "lock_wait_s",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Seconds to wait for another apply to finish.",
)
@dry_run_option
@yes_option
@output_option()
@pass_cli
def apply(  # noqa: D103
    cli: CliContext,
    source: Path,
    folder: Path | None,
    prune: bool,
    keep_unset: bool,
    secrets_env: tuple[str, ...],
    plan_id: str | None,
    timeout_s: float,
    lock_wait_s: float,
    dry_run: bool,
    yes: bool,
) -> None:
    saved = load_plan(source) if source.is_file() else None
    if saved is not None:
        if prune or keep_unset:
            raise ConfigError(
                "a saved plan already includes --prune and --keep-unset", remedy="leave these options out"
            )
        prune, keep_unset = saved.prune, saved.keep_unset
    elif folder is not None:
        raise ConfigError("--dir needs a saved plan", remedy="pass the folder alone, without --dir")
    read, references = opened(folder or (Path(saved.folder) if saved else source), secrets_env)
    with ExitStack() as open_:
        view = _ProgressView(cli)
        applier = Applier(
            cli.client(),
            cli.property_store(),
            read,
            references,
            prune=prune,
            keep_unset=keep_unset,
            timeout_s=timeout_s,
            lock_wait_s=lock_wait_s,
            observer=view,
        )
        # What is shown and asked is what would be done now, not what a file says.
        plan = applier.plan().plan if saved is None else applier.remaining(saved)
        if not cli.out.is_json or dry_run:
            show_plan(cli.out, plan)
        approvable = (saved or plan).id
        if plan_id is not None and plan_id != approvable:
            raise ConfigError(
                f"the plan has the id {approvable}",
                expected=plan_id,
                remedy="review the plan, and approve its id",
            )
        if dry_run:
            return
        if plan.has_changes:
            confirm(_question(plan), yes=yes or plan_id is not None)
            steps = len(plan.steps)
            view.progress = open_.enter_context(cli.out.progress("Applying", total=steps, unit="steps"))
        report = applier.apply(plan)
        if view.progress is not None:
            view.progress.update(done=report.done, total=report.done, text="Applied")
    record = {**report.plan.to_json(), "done": report.done, "changed": report.done > 0}
    done = (
        f"Applied {counted_text(report.done, 'step')} of plan {approvable}."
        if plan.has_changes
        else "Nothing to do."
    )
    cli.out.result(done, record)


def _question(plan: Plan) -> str:
    deleted = sum(step.action is Action.DELETE for step in plan.steps)
    also = f" ({counted_text(deleted, 'deletion')})" if deleted else ""
    return f"Apply {counted_text(len(plan.steps), 'step')}{also} at {plan.controller}?"


class _ProgressView:
    """Shows the progress of an apply."""

    def __init__(self, cli: CliContext) -> None:
        self._cli = cli
        self.progress: Progress | None = None

    def began(self, step: Step, number: int, total: int) -> None:
        self._cli.out.note(f"[{number}/{total}] {step.action} {step.object}")
        if self.progress is not None:
            self.progress.update(done=number - 1, total=total, text=f"{step.action} {step.object}")

    def reloading(self, step: Step, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress.update(text=f"reload {step.object}: {done} of {total} segment replicas")
