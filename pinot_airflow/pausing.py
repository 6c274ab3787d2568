"""A pause of a realtime table's consumption around tasks, as a setup and its teardown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from controller_client.consumption.pause_end import PauseEnd, end_pause
from controller_client.consumption.pausing import pause
from controller_client.errors import ConflictError, PinotPluginError
from pinot_airflow.access import PinotAccess
from pinot_airflow.airflow_api import AirflowFailException, Context
from pinot_airflow.conditions.consumption import TableIsPaused
from pinot_airflow.names import task_name, try_name
from pinot_airflow.operator import PinotOperator

__all__ = ["PinotPauseOperator", "PinotResumeOperator"]


class PinotPauseOperator(PinotOperator):
    """Pauses a realtime table, and is done when nothing of it consumes.

    The pause bears the name of the DAG run: whatever else pauses the table does so beside it, and stays. It
    is ended by a :class:`PinotResumeOperator` of the same ``hold`` in the same DAG run; a task that fails, or
    that a user fails or clears, lifts its own pause. What no task can do is lift the pause after its worker
    was killed. So make it a setup with a teardown whose other setup cannot fail: :func:`pinot_paused` does.

    Args:
        table: With or without ``_REALTIME``.
        hold: Names the pause among those of the DAG run.
        reason: Why, for those who see the table paused.
        timeout_s: Seconds until the pause has to be finished.
        kwargs: As :class:`PinotOperator`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "hold", "reason")

    def __init__(
        self,
        *,
        table: str,
        hold: str = "pause",
        reason: str | None = None,
        timeout_s: float = 600.0,
        poll_interval_s: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(poll_interval_s=poll_interval_s, **kwargs)
        self.table = table
        self.hold = hold
        self.reason = reason
        self.timeout_s = timeout_s
        self._pausing: tuple[PinotAccess, str] | None = None

    def execute(self, context: Context) -> Any:
        """Set the flag, and wait for the end of consumption."""
        holder = try_name(context, self.hold)
        condition = TableIsPaused(self.table, holder)
        with self.access(context) as access:
            self._pausing = (access, holder)
            try:
                pause(
                    access.table_control(self.table),
                    reason=self.reason or f"DAG {context['ti'].dag_id}",
                    comment=holder,
                    holder=holder,
                    wait=False,
                    timeout_s=self.timeout_s,
                )
                if not self.deferrable:
                    return self.wait_until(condition, access).value
            except BaseException:
                self._lift(access, holder)
                raise
        self.defer_until(condition, "paused", timeout=timedelta(seconds=self.timeout_s))
        return None

    def paused(self, _context: Context, event: Mapping[str, Any]) -> Any:
        """Report the pause; Airflow calls it after the trigger."""
        return self.seen(event).value

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Go on after the trigger, and lift the pause where it failed or came too late."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except Exception:
            with self.access(context) as access:
                self._lift(access, try_name(context, self.hold))
            raise

    def on_kill(self) -> None:
        """Lift the pause."""
        super().on_kill()
        if self._pausing is not None:
            access, holder = self._pausing
            with PinotAccess(access.address, access.by) as own:
                self._lift(own, holder)

    def _lift(self, access: PinotAccess, holder: str) -> None:
        try:
            end_pause(access.table_control(self.table), holder, wait=False)
        except PinotPluginError as error:
            self.log.error("%s may still be paused: %s", self.table, error)


class PinotResumeOperator(PinotOperator):
    """Ends the pause of a :class:`PinotPauseOperator` in the same DAG run, and only that one.

    As often as it runs: where the pause is not there, or was lifted before, it does nothing. The table is
    resumed when nobody else wants it paused; then the task is done when every partition consumes.

    Args:
        table: With or without ``_REALTIME``.
        hold: As the pause has it.
        timeout_s: Seconds until all partitions have to consume.
        kwargs: As :class:`PinotOperator`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "hold")

    def __init__(self, *, table: str, hold: str = "pause", timeout_s: float = 600.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.hold = hold
        self.timeout_s = timeout_s

    def execute(self, context: Context) -> dict[str, Any]:
        """End the pause.

        Raises:
            AirflowFailException: Somebody resumed the table while it should have stayed paused. The pause is
                ended, so another try would not show it.
        """
        tries = f"{task_name(context, self.hold)}#"
        with self.access(context) as access:
            control = access.table_control(self.table)
            try:
                end: PauseEnd = end_pause(
                    control, lambda holder: holder.startswith(tries), timeout_s=self.timeout_s
                )
            except ConflictError as error:
                raise AirflowFailException(str(error)) from error
        return {
            "table": str(control.table),
            "held": end.held,
            "resumed": end.resumed,
            "still_held_by": list(end.still_held_by),
        }
