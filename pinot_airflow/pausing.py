"""Operators that pause a realtime table's consumption around tasks, as a setup and its teardown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from controller_client.consumption.pauses.pause_end import PauseEnd, end_pause
from controller_client.consumption.pauses.pausing import pause
from controller_client.errors import ConflictError, PinotPluginError
from pinot_airflow.access import PinotAccess
from pinot_airflow.airflow_api import AirflowFailException, Context
from pinot_airflow.conditions.consumption import TableIsPaused
from pinot_airflow.names import task_name, try_name
from pinot_airflow.operator import PinotOperator

__all__ = ["PinotPauseOperator", "PinotResumeOperator"]


class PinotPauseOperator(PinotOperator):
    """Pauses a realtime table, and succeeds once none of its partitions consumes.

    The pause carries the name of the DAG run, and other pauses of the table are independent of it. It is
    ended by a :class:`PinotResumeOperator` with the same ``pause_name`` in the same DAG run. A task that
    fails, or that a user fails or clears, lifts its own pause. However, no task can lift the pause after its
    worker was killed. So make it a setup with a teardown that has another setup which cannot fail, as
    :func:`pinot_paused` does.

    Args:
        table: With or without ``_REALTIME``.
        pause_name: Name of the pause, unique within the DAG run.
        reason: The reason, shown to anyone who finds the table paused.
        timeout_s: Maximum seconds until the table is paused.
        kwargs: As for :class:`PinotOperator`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "pause_name", "reason")

    def __init__(
        self,
        *,
        table: str,
        pause_name: str = "pause",
        reason: str | None = None,
        timeout_s: float = 600.0,
        poll_interval_s: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(poll_interval_s=poll_interval_s, **kwargs)
        self.table = table
        self.pause_name = pause_name
        self.reason = reason
        self.timeout_s = timeout_s
        self._pausing: tuple[PinotAccess, str] | None = None

    def execute(self, context: Context) -> Any:
        """Pause the table, and wait until consumption has ended."""
        holder = try_name(context, self.pause_name)
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
        """Return the result; called by Airflow after the trigger."""
        return self.seen(event).value

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Continue after the trigger, and lift the pause if it failed or timed out."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except Exception:
            with self.access(context) as access:
                self._lift(access, try_name(context, self.pause_name))
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
    """Ends the pause of a :class:`PinotPauseOperator` in the same DAG run, and no other.

    It is idempotent: if there is no such pause, or it was already lifted, it does nothing. The table is
    resumed unless another pause remains, and then the task succeeds once every partition consumes.

    Args:
        table: With or without ``_REALTIME``.
        pause_name: Name of the pause, as in the :class:`PinotPauseOperator`.
        timeout_s: Maximum seconds until all partitions consume.
        kwargs: As for :class:`PinotOperator`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "pause_name")

    def __init__(
        self, *, table: str, pause_name: str = "pause", timeout_s: float = 600.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.pause_name = pause_name
        self.timeout_s = timeout_s

    def execute(self, context: Context) -> dict[str, Any]:
        """End the pause.

        Raises:
            AirflowFailException: Somebody resumed the table while it should have stayed paused. The pause has
                ended, so a retry would not detect this.
        """
        tries = f"{task_name(context, self.pause_name)}#"
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
            "was_paused": end.was_paused,
            "resumed": end.resumed,
            "still_paused_by": list(end.still_paused_by),
        }
