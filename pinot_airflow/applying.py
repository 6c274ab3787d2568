"""An apply of the cluster as code, as a task."""

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
    """Makes the cluster as a folder of files says; see docs/as-code.md.

    It works in the worker, where the folder has to be, and waits there for the reloads that it makes. A try
    that was killed is finished by the next one: what is done is not done twice, and a reload that was begun
    is not forgotten. References in the files, such as ``${env:NAME}``, are to the worker's environment.

    Args:
        folder: The folder.
        plan_id: Carry out the plan of this id and no other; None: the one that is due.
        prune: Delete what the folder's owner applied and what no longer has a file.
        keep_unset: Leave a field unchanged if the variable or file that it refers to is missing.
        dry_run: Only report the plan.
        timeout_s: Seconds to wait for each reload, pause and resume.
        lock_wait_s: Seconds to wait for another apply to end.
        kwargs: As :class:`PinotOperator`; ``deferrable`` counts for nothing.
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
        self.only_plan = dry_run  # Airflow has a method of the other name
        self.timeout_s = timeout_s
        self.lock_wait_s = lock_wait_s

    def execute(self, context: Context) -> dict[str, Any]:
        """Plan, and apply the plan.

        Returns:
            ``plan`` (its id), ``steps`` (each as ``update tables/flights_OFFLINE``) and ``done``.

        Raises:
            AirflowFailException: The cluster would refuse a step, or the plan is not that of ``plan_id``:
                another try would come to the same.
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
                    raise ConflictError(f"the plan is {plan.id}", expected=self.plan_id, where=self.folder)
                done = applier.apply(plan).done
            except (ConflictError, RejectedError) as error:
                raise AirflowFailException(str(error)) from error
        return _report(plan, done)

    def began(self, step: Step, number: int, total: int) -> None:
        """Log that a step begins."""
        self.log.info("[%d/%d] %s %s", number, total, step.action, step.object)

    def reloading(self, step: Step, done: int, total: int) -> None:
        """Log how far a reload is."""
        self.log.info("%s: %d of %d replicas of segments are loaded again", step.object, done, total)

    def _show(self, plan: Plan) -> None:
        self.log.info("plan %s of %s for %s", plan.id, plan.owner, plan.controller)
        for step in plan.steps:
            effects = ", ".join(step.effects)
            self.log.info("%s %s (%s; %d segments)", step.action, step.object, effects, step.segments)


def _report(plan: Plan, done: int) -> dict[str, Any]:
    return {"plan": plan.id, "steps": [f"{step.action} {step.object}" for step in plan.steps], "done": done}
