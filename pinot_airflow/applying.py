"""The operator that applies the cluster as code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from controller_client.as_code import Applier, Plan, References, Step, read_folder
from controller_client.errors import ConflictError, RejectedError
from pinot_airflow.airflow_api import AirflowFailException, Context
from pinot_airflow.operator import PinotOperator

__all__ = ["PinotApplyOperator"]


class PinotApplyOperator(PinotOperator):
    """Applies a folder of files to the cluster; see docs/as-code.md.

    It runs in the worker, which needs access to the folder, and waits there for the reloads that it starts.
    If a try is killed, the next one completes it: finished steps are not repeated, and a reload that was
    started is not forgotten. References in the files, such as ``${env:NAME}``, refer to the worker's
    environment, as far as the worker's operator allows: by default, to variables ``PINOT_SECRET_*`` and to
    files in the folder. Their values are masked in the task's log.

    Args:
        folder: The folder.
        plan_id: Apply only the plan with this id; None: the current plan.
        prune: Delete objects that the folder's owner applied and that no longer have a file.
        keep_unset: Leave a field unchanged if the variable or file that it refers to is missing.
        dry_run: Only report the plan.
        timeout_s: Seconds to wait for each reload, pause and resume.
        lock_wait_s: Seconds to wait for another apply to end.
        kwargs: As for :class:`PinotOperator`; ``deferrable`` has no effect.
    """

    template_fields: ClassVar[Sequence[str]] = ("folder", "plan_id")

    def __init__(
        self,
        *,
        folder: str,
        plan_id: str | None = None,
        prune: bool = False,
        keep_unset: bool = False,
        dry_run: bool = False,
        timeout_s: float = 600.0,
        lock_wait_s: float = 60.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.folder = folder
        self.plan_id = plan_id
        self.prune = prune
        self.keep_unset = keep_unset
        self.only_plan = dry_run  # Airflow has a method named dry_run
        self.timeout_s = timeout_s
        self.lock_wait_s = lock_wait_s

    def execute(self, context: Context) -> dict[str, Any]:
        """Create a plan and apply it.

        Returns:
            ``plan`` (its id), ``steps`` (such as ``update tables/flights_OFFLINE``) and ``done``.

        Raises:
            AirflowFailException: The cluster rejects a step, or the plan's id is not ``plan_id``; a retry
                would have the same result.
        """
        folder = Path(self.folder)
        with self.access(context) as access:
            applier = Applier(
                access.client,
                access.store,
                read_folder(folder),
                References(os.environ, folder),
                prune=self.prune,
                keep_unset=self.keep_unset,
                timeout_s=self.timeout_s,
                lock_wait_s=self.lock_wait_s,
                observer=self,
            )
            plan = applier.plan().plan
            self._show(plan)
            if self.only_plan:
                return _report(plan, 0)
            try:
                if self.plan_id and self.plan_id != plan.id:
                    raise ConflictError(
                        f"the current plan is {plan.id}", expected=self.plan_id, where=self.folder
                    )
                done = applier.apply(plan).done
            except (ConflictError, RejectedError) as error:
                raise AirflowFailException(str(error)) from error
        return _report(plan, done)

    def began(self, step: Step, number: int, total: int) -> None:
        """Log that a step begins."""
        self.log.info("[%d/%d] %s %s", number, total, step.action, step.object)

    def reloading(self, step: Step, done: int, total: int) -> None:
        """Log the progress of a reload."""
        self.log.info("%s: %d of %d segment replicas reloaded", step.object, done, total)

    def _show(self, plan: Plan) -> None:
        self.log.info("plan %s of %s for %s", plan.id, plan.owner, plan.controller)
        for step in plan.steps:
            effects = ", ".join(step.effects)
            self.log.info("%s %s (%s; %d segments)", step.action, step.object, effects, step.segments)


def _report(plan: Plan, done: int) -> dict[str, Any]:
    return {"plan": plan.id, "steps": [f"{step.action} {step.object}" for step in plan.steps], "done": done}
