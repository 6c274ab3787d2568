"""The base of the operators: the connection, and waiting in the triggerer or in the worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, ClassVar

from controller_client.errors import PinotPluginError
from pinot_airflow.access import PinotAccess
from pinot_airflow.airflow_api import AirflowException, BaseOperator, Context
from pinot_airflow.conditions.base import Condition, Seen, is_passing
from pinot_airflow.hook import DEFAULT_CONN_ID, PinotHook
from pinot_airflow.names import task_name
from pinot_airflow.trigger import ConditionTrigger, seen_in

__all__ = ["PinotOperator"]

_NAP_S = 1.0
"""Longest sleep of a worker at a time, since Airflow kills it 5 s after telling it to stop."""


class PinotOperator(BaseOperator):
    """A task that changes a cluster and may wait for the result.

    Args:
        pinot_conn_id: The connection.
        deferrable: Whether to wait in the triggerer, without occupying a worker.
        poll_interval_s: Seconds between checks.
        kwargs: As for any operator.
    """

    ui_color: ClassVar[str] = "#e6f2ff"

    def __init__(
        self,
        *,
        pinot_conn_id: str = DEFAULT_CONN_ID,
        deferrable: bool = True,
        poll_interval_s: float = 10.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pinot_conn_id = pinot_conn_id
        self.deferrable = deferrable
        self.poll_interval_s = poll_interval_s
        self._is_stopped = False

    def on_kill(self) -> None:
        """Record that the task is being stopped: Airflow signals the process, which keeps running."""
        self._is_stopped = True

    def check_not_stopped(self) -> None:
        """Raise an error if the task is being stopped.

        Raises:
            AirflowException: The task is being stopped.
        """
        if self._is_stopped:
            raise AirflowException("the task was stopped from outside")

    def access(self, context: Context) -> PinotAccess:
        """Return clients of the cluster, to be used in a ``with`` block."""
        return PinotHook(self.pinot_conn_id).access(by=task_name(context))

    def defer_until(
        self, condition: Condition, method_name: str, *, timeout: timedelta | None = None, **kwargs: Any
    ) -> None:
        """Leave the worker, and continue with a method once a condition is met.

        Args:
            condition: The condition.
            method_name: The method, called with the context, the event (see :meth:`seen`) and the keywords.
            timeout: Maximum time to wait.
            kwargs: Keywords for the method; must be JSON values.
        """
        trigger = ConditionTrigger(self.pinot_conn_id, condition.to_json(), self.poll_interval_s)
        self.defer(trigger=trigger, method_name=method_name, kwargs=kwargs, timeout=timeout)

    def wait_until(
        self, condition: Condition, access: PinotAccess, *, sleep: Callable[[float], None] = time.sleep
    ) -> Seen:
        """Wait for a condition in this worker, limited by the task's ``execution_timeout``.

        Raises:
            AirflowException: The task was stopped from outside.
        """
        watch, last = condition.watch(access), None
        while True:
            try:
                seen = watch()
            except PinotPluginError as error:
                if not is_passing(error):
                    raise
                seen = Seen(False, error.message)
            # Stopping may have cancelled what the task started, so the result is meaningless.
            self.check_not_stopped()
            if seen.text != last:
                self.log.info("%s", seen.text)
                last = seen.text
            if seen.done:
                return seen
            left_s = self.poll_interval_s
            while left_s > 0:
                sleep(min(left_s, _NAP_S))
                self.check_not_stopped()
                left_s -= _NAP_S

    def seen(self, event: Mapping[str, Any]) -> Seen:
        """Return the result in a trigger's event.

        Raises:
            AirflowException: Waiting failed.
        """
        seen = seen_in(event)
        if isinstance(seen, str):
            raise AirflowException(seen)
        return seen
