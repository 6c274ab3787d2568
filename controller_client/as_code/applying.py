"""Apply a plan, step by step; if an apply is killed at any point, the next one finishes its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from controller_client.as_code.files import Folder
from controller_client.as_code.inventory import BROKERS, RELOAD, Inventory
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.plan import Action, Plan, Step
from controller_client.as_code.planning import Planned, make_plan
from controller_client.as_code.references import References
from controller_client.as_code.writing import ObjectWriter
from controller_client.common.text import counted_text
from controller_client.consumption.pauses.pausing import pause
from controller_client.consumption.pauses.resuming import resume
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError, NotAppliedError, OutcomeUnknownError, RejectedError
from controller_client.rest.client import RestClient
from controller_client.zookeeper import ClusterLock, PropertyStore, process_name

__all__ = ["Applier", "ApplyObserver", "ApplyReport"]


@dataclass(frozen=True)
class ApplyReport:
    """The result of an apply.

    Attributes:
        plan: The plan that was applied, as it was computed when the apply started.
    """

    plan: Plan

    @property
    def done(self) -> int:
        """Number of the plan's steps, all of which were applied."""
        return len(self.plan.steps)


class ApplyObserver(Protocol):
    """Receives the progress of an apply, in its thread."""

    def began(self, step: Step, number: int, total: int) -> None:
        """Called when a step starts."""

    def reloading(self, step: Step, done: int, total: int) -> None:
        """Called during a reload, with the number of reloaded segment replicas of a table."""


class Applier:
    """Applies one folder to one cluster.

    Args:
        client: Client of the controller.
        store: The cluster's property store, connected.
        folder: The wanted state.
        references: Resolves the folder's references.
        prune: Delete what the folder's owner applied and what no longer has a file.
        keep_unset: Leave a field unchanged if a variable or file that it refers to is missing.
        timeout_s: Seconds to wait for each reload, pause and resume.
        lock_wait_s: Seconds to wait for another apply to finish.
        observer: Called when steps start and as reloads progress.
    """

    def __init__(
        self,
        client: RestClient,
        store: PropertyStore,
        folder: Folder,
        references: References,
        *,
        prune: bool = False,
        keep_unset: bool = False,
        timeout_s: float = 600.0,
        lock_wait_s: float = 0.0,
        observer: ApplyObserver | None = None,
    ) -> None:
        self._client, self._store, self._folder, self._references = client, store, folder, references
        self._prune, self._keep_unset = prune, keep_unset
        self._timeout_s, self._lock_wait_s = timeout_s, lock_wait_s
        self._observer = observer
        self._inventory = Inventory(store, folder.settings.owner)
        self._writer = ObjectWriter(client, self._inventory)
        self._pending: set[ObjectRef] = set()

    def plan(self) -> Planned:
        """Return the plan as of now; see :func:`.make_plan`."""
        with self._references.kept_from_errors():
            return make_plan(
                self._client,
                self._store,
                self._folder,
                self._references,
                prune=self._prune,
                keep_unset=self._keep_unset,
            )

    def remaining(self, approved: Plan) -> Plan:
        """Return what remains of an approved plan, as of now; errors as of :meth:`apply`."""
        now = self.plan().plan
        _require_approved(approved, now)
        return now

    def apply(self, approved: Plan) -> ApplyReport:
        """Apply a plan.

        The plan is computed again, under a lock that allows one apply per cluster at a time. The new plan
        must be the approved one, or what remains of it.

        Args:
            approved: The plan that was shown and approved.

        Raises:
            ConflictError: The cluster or the files have changed since the plan was made; the error names the
                changes. Nothing was applied.
            LockHeldError: Another apply is running.
            RejectedError: The cluster refuses a step; the steps before it were applied.
            WaitTimeoutError: A reload, pause or resume did not finish in time; the next apply continues it.
            OutcomeUnknownError: It is unknown whether a step was applied; run the apply again.
        """
        lock = ClusterLock(self._store, "as_code", "the cluster's configuration", process_name())
        with self._references.kept_from_errors(), lock:
            lock.acquire(wait_s=self._lock_wait_s)
            planned = self.plan()
            _require_approved(approved, planned.plan)
            self._pending = {ref for ref, entry in planned.inventory.items() if RELOAD in entry.pending}
            steps = planned.plan.steps
            for ref, entry in planned.inventory.items():
                if BROKERS in entry.pending:
                    self._writer.assign_brokers(ref)
            for number, step in enumerate(steps, 1):
                if lock.lost:
                    raise OutcomeUnknownError(
                        "the connection to ZooKeeper was lost, so another apply may have started",
                        remedy="run it again: finished steps are not repeated",
                    )
                if self._observer is not None:
                    self._observer.began(step, number, len(steps))
                self._apply_step(step, planned)
            self._adopt(planned)
        return ApplyReport(planned.plan)

    def _apply_step(self, step: Step, planned: Planned) -> None:
        ref = step.ref
        if step.action in (Action.CREATE, Action.UPDATE):
            self._write(step, planned)
        elif step.action is Action.RELOAD:
            self._reload(step)
        elif step.action is Action.DELETE:
            self._writer.delete(ref)
            self._inventory.forget(ref)
            return
        else:
            control = TableControl(self._client, self._store, ref.table)
            reason = planned.targets[ref].written.get("reason")
            if step.action is Action.PAUSE:
                pause(control, reason=str(reason) if reason else None, timeout_s=self._timeout_s)
            else:
                resume(control, timeout_s=self._timeout_s)
        if ref in planned.targets:
            self._record(ref, planned)

    def _write(self, step: Step, planned: Planned) -> None:
        newly = [table for table in self._to_reload(step, planned) if table not in self._pending]
        for table in newly:
            self._inventory.add_pending(table, RELOAD)
        try:
            self._writer.write(planned.targets[step.ref])
        except NotAppliedError:
            # Nothing was changed for certain, so nothing has to be reloaded.
            for table in newly:
                self._inventory.done(table, RELOAD)
            raise
        self._pending.update(newly)

    def _to_reload(self, step: Step, planned: Planned) -> list[ObjectRef]:
        """Return the tables that must be reloaded after a step."""
        reloads = [each.ref for each in planned.plan.steps if each.action is Action.RELOAD]
        if step.ref.kind is Kind.TABLE:
            return [each for each in reloads if each == step.ref]
        # After a schema change, any of them may be one of its tables; an unneeded reload does no harm.
        return reloads if step.ref.kind is Kind.SCHEMA and step.action is Action.UPDATE else []

    def _reload(self, step: Step) -> None:
        table = step.ref.table
        segments = self._client.segments
        if self._client.tables.ideal_state(table):

            def seen(done: int, total: int) -> None:
                if self._observer is not None:
                    self._observer.reloading(step, done, total)

            job = segments.reload(table)
            segments.wait_reloaded(table, job, self._timeout_s, seen=seen)
        self._inventory.done(step.ref, RELOAD)

    def _record(self, ref: ObjectRef, planned: Planned) -> None:
        self._inventory.record_applied(
            ref,
            planned.targets[ref].shown,
            plan=planned.plan.id,
            at_ms=round(self._client.clock.now() * 1000),
            by=process_name(),
        )

    def _adopt(self, planned: Planned) -> None:
        """Record the objects that already match the files: they belong to this owner from now on."""
        for ref, target in planned.targets.items():
            entry = planned.inventory.get(ref)
            is_recorded = entry is not None and entry.applied == target.shown
            if not target.differs and ref not in planned.others and not is_recorded:
                self._record(ref, planned)


def _require_approved(approved: Plan, now: Plan) -> None:
    if approved.owner != now.owner or approved.controller != now.controller:
        raise ConflictError(
            f"plan {approved.id} belongs to the owner {approved.owner} and {approved.controller}",
            expected=f"a plan of {now.owner} for {now.controller}",
        )
    if now.refused:
        reasons = "\n  ".join(f"{step.object}: {step.refusal}" for step in now.refused)
        raise RejectedError(
            f"the cluster would refuse {len(now.refused)} of {counted_text(len(now.steps), 'step')}:\n"
            f"  {reasons}"
        )
    known = {step.key: step for step in approved.steps}
    new = [step for step in now.steps if step.key not in known or step.does_more_than(known[step.key])]
    if new:
        raise ConflictError(
            f"the cluster or the files have changed since plan {approved.id} was created: "
            + ", ".join(f"{step.action} {step.object}" for step in new[:10]),
            remedy="create a new plan, review it, and apply that",
        )
