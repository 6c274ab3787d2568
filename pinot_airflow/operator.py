"""What the operators share: the connection, and waiting in the triggerer or in the worker."""

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
"""How long a worker sleeps at once: Airflow kills it 5 s after it has asked it to end."""


class PinotOperator(BaseOperator):
    """A task that does something to a cluster, and may wait for what comes of it.

    Args:
        pinot_conn_id: The connection.
        deferrable: Whether it waits in the triggerer, and holds no worker meanwhile.
        poll_interval_s: Seconds between two looks.
        kwargs: As any operator has them.
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
        self._is_ended = False

    def on_kill(self) -> None:
        """Note that the task is ended from outside: Airflow asks the process to end, and lets it go on."""
        self._is_ended = True

    def check_not_ended(self) -> None:
        """Go on only where nobody has ended the task from outside.

        Raises:
            AirflowException: Somebody has.
        """
        if self._is_ended:
            raise AirflowException("the task was ended from outside")

    def access(self, context: Context) -> PinotAccess:
        """Return clients of the cluster, for a ``with`` block."""
        return PinotHook(self.pinot_conn_id).access(by=task_name(context))

    def defer_until(
        self, condition: Condition, method_name: str, *, timeout: timedelta | None = None, **kwargs: Any
    ) -> None:
        """Leave the worker, and go on with a method when a condition holds.

        Args:
            condition: The condition.
            method_name: Gets the context, the event (see :meth:`seen`) and the keywords.
            timeout: How long it may take.
            kwargs: For the method; JSON can hold them.
        """
        trigger = ConditionTrigger(self.pinot_conn_id, condition.to_json(), self.poll_interval_s)
        self.defer(trigger=trigger, method_name=method_name, kwargs=kwargs, timeout=timeout)

    def wait_until(
        self, condition: Condition, access: PinotAccess, *, sleep: Callable[[float], None] = time.sleep
    ) -> Seen:
        """Wait for a condition in this worker; the task's ``execution_timeout`` bounds it.

        Raises:
            AirflowException: The task was ended from outside.
        """
        watch, last = condition.watch(access), None
        while True:
            try:
                seen = watch()
            except PinotPluginError as error:
                if not is_passing(error):
                    raise
                seen = Seen(False, error.message)
            # What it began may be taken back by now, so what was seen tells nothing.
            self.check_not_ended()
            if seen.text != last:
                self.log.info("%s", seen.text)
                last = seen.text
            if seen.done:
                return seen
            left_s = self.poll_interval_s
            while left_s > 0:
                sleep(min(left_s, _NAP_S))
                self.check_not_ended()
                left_s -= _NAP_S

    def seen(self, event: Mapping[str, Any]) -> Seen:
        """Return what a trigger's event reports.

        Raises:
            AirflowException: Waiting was in vain.
        """
        seen = seen_in(event)
        if isinstance(seen, str):
            raise AirflowException(seen)
        return seen
