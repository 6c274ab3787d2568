"""Sensors, which wait for a condition in the triggerer or, depending on ``mode``, in a worker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from controller_client.errors import ConfigError, PinotPluginError
from pinot_airflow.access import PinotAccess
from pinot_airflow.airflow_api import AirflowException, BaseSensorOperator, Context
from pinot_airflow.conditions.base import Condition, Seen, is_passing
from pinot_airflow.conditions.consumption import OffsetsAreRead
from pinot_airflow.conditions.data import DataReaches
from pinot_airflow.conditions.upsert import MarkReaches
from pinot_airflow.conditions.writes import WriteIsPublished
from pinot_airflow.hook import DEFAULT_CONN_ID, PinotHook
from pinot_airflow.names import task_name
from pinot_airflow.times import epoch_ms
from pinot_airflow.trigger import ConditionTrigger, seen_in

__all__ = ["PinotDataSensor", "PinotOffsetsSensor", "PinotSensor", "PinotUpsertSensor", "PinotWriteSensor"]


class PinotSensor(BaseSensorOperator):
    """Waits for a condition, and returns the result of the last check.

    Args:
        pinot_conn_id: The connection.
        deferrable: Whether to wait in the triggerer, without occupying a worker.
        poke_interval: Seconds between checks.
        kwargs: As for any sensor, e.g. ``timeout``.
    """

    ui_color: ClassVar[str] = "#e6f2ff"

    def __init__(
        self,
        *,
        pinot_conn_id: str = DEFAULT_CONN_ID,
        deferrable: bool = True,
        poke_interval: float = 10.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.pinot_conn_id = pinot_conn_id
        self.deferrable = deferrable
        self._condition: Condition | None = None
        self._last: Any = None

    @abstractmethod
    def condition(self, access: PinotAccess) -> Condition:
        """Return the condition to wait for; called once per try."""

    def execute(self, context: Context) -> Any:
        """Check once, then wait."""
        if not self.deferrable:
            super().execute(context)
            return self._last
        seen = self._check(context)
        if seen.done or self._condition is None:
            return seen.value
        trigger = ConditionTrigger(self.pinot_conn_id, self._condition.to_json(), self.poke_interval)
        self.defer(trigger=trigger, method_name="seen", timeout=timedelta(seconds=self.timeout))
        return None

    def poke(self, context: Context) -> bool:
        """Check once."""
        seen = self._check(context)
        self._last = seen.value
        return seen.done

    def seen(self, _context: Context, event: Mapping[str, Any]) -> Any:
        """Return the result; called by Airflow after the trigger."""
        seen = seen_in(event)
        if isinstance(seen, str):
            raise AirflowException(seen)
        self.log.info("%s", seen.text)
        return seen.value

    def _check(self, context: Context) -> Seen:
        with PinotHook(self.pinot_conn_id).access(by=task_name(context)) as access:
            if self._condition is None:
                self._condition = self.condition(access)
            try:
                seen = self._condition.look(access)
            except PinotPluginError as error:
                if not is_passing(error):
                    raise
                seen = Seen(False, error.message)
        self.log.info("%s", seen.text)
        return seen


class PinotWriteSensor(PinotSensor):
    """Waits until a Spark write is published, that is, its segments are in the table. Needs no Spark.

    A write without rows that replaces nothing publishes nothing, so the sensor does not detect it.

    Args:
        table: With or without ``_OFFLINE``.
        write_id: The write's option ``writeId``; see :func:`pinot_airflow.write_id`.
        kwargs: As for :class:`PinotSensor`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "write_id")

    def __init__(self, *, table: str, write_id: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.write_id = write_id

    def condition(self, access: PinotAccess) -> Condition:
        """Return the condition that the write is published."""
        return WriteIsPublished(self.table, self.write_id)


class PinotOffsetsSensor(PinotSensor):
    """Waits until a realtime table has consumed its stream up to given offsets.

    Args:
        table: With or without ``_REALTIME``.
        offsets: Maps each partition number to the next offset to be read; default: the end of the stream when
            the sensor starts.
        kwargs: As for :class:`PinotSensor`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "offsets")

    def __init__(
        self, *, table: str, offsets: Mapping[int | str, int | str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.offsets = offsets
        if offsets is None and not self.deferrable and self.mode == "reschedule":
            raise ConfigError(
                "'offsets' is required in mode reschedule, since the end of the stream differs at each check",
                remedy="set offsets, or set deferrable to True",
            )

    def condition(self, access: PinotAccess) -> Condition:
        """Return the condition that the offsets are read."""
        if self.offsets is not None:
            return OffsetsAreRead(self.table, {str(n): int(offset) for n, offset in self.offsets.items()})
        ends = access.table_control(self.table).stream()
        return OffsetsAreRead(self.table, {str(number): each.latest for number, each in ends.items()})


class PinotUpsertSensor(PinotSensor):
    """Waits until all servers of an upsert table are complete up to a version or a time (its low-water mark).

    Args:
        table: With or without ``_REALTIME``.
        version: The version.
        at: A time with time zone, in ISO 8601 or as ``datetime``: the mark's version must have been complete
            at that time or later.
        kwargs: As for :class:`PinotSensor`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "version", "at")

    def __init__(
        self,
        *,
        table: str,
        version: int | str | None = None,
        at: datetime | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if version is None and at is None:
            raise ConfigError("neither 'version' nor 'at' is set", expected="version, at or both")
        self.table = table
        self.version = version
        self.at = at

    def condition(self, access: PinotAccess) -> Condition:
        """Return the condition that the mark is reached."""
        version = None if self.version is None else int(self.version)
        return MarkReaches(self.table, version, None if self.at is None else epoch_ms(self.at, "at"))


class PinotDataSensor(PinotSensor):
    """Waits until queries see a row with a given time or a later one.

    Args:
        table: Name of the table; without type, both parts of a hybrid table count.
        until: The time with time zone, in ISO 8601 or as ``datetime``; default: the end of the run's data
            interval.
        column: The column with the time; default: the table's time column.
        kwargs: As for :class:`PinotSensor`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "until", "column")

    def __init__(
        self,
        *,
        table: str,
        until: datetime | str = "{{ data_interval_end }}",
        column: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.until = until
        self.column = column

    def condition(self, access: PinotAccess) -> Condition:
        """Return the condition that the data reaches the time."""
        return DataReaches(self.table, epoch_ms(self.until, "until"), self.column)
