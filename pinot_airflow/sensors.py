"""Sensors: each waits for a condition, in the triggerer or, as ``mode`` says, in a worker."""

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
    """Waits for a condition; what it returns is what was seen.

    Args:
        pinot_conn_id: The connection.
        deferrable: Whether it waits in the triggerer, and holds no worker meanwhile.
        poke_interval: Seconds between two looks.
        kwargs: As any sensor has them, e.g. ``timeout``.
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
        """Return what is waited for; asked once for each try."""

    def execute(self, context: Context) -> Any:
        """Look once, and wait."""
        if not self.deferrable:
            super().execute(context)
            return self._last
        seen = self._look(context)
        if seen.done or self._condition is None:
            return seen.value
        trigger = ConditionTrigger(self.pinot_conn_id, self._condition.to_json(), self.poke_interval)
        self.defer(trigger=trigger, method_name="seen", timeout=timedelta(seconds=self.timeout))
        return None

    def poke(self, context: Context) -> bool:
        """Look once."""
        seen = self._look(context)
        self._last = seen.value
        return seen.done

    def seen(self, _context: Context, event: Mapping[str, Any]) -> Any:
        """Return what was seen; Airflow calls it after the trigger."""
        seen = seen_in(event)
        if isinstance(seen, str):
            raise AirflowException(seen)
        self.log.info("%s", seen.text)
        return seen.value

    def _look(self, context: Context) -> Seen:
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
    """Waits until a Spark write is published, wherever Spark runs: its segments are in the table.

    A write that has no row and replaces nothing publishes nothing, and is not seen.

    Args:
        table: With or without ``_OFFLINE``.
        write_id: The write's option ``writeId``; see :func:`pinot_airflow.write_id`.
        kwargs: As :class:`PinotSensor`.
    """

    template_fields: ClassVar[Sequence[str]] = ("table", "write_id")

    def __init__(self, *, table: str, write_id: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.write_id = write_id

    def condition(self, access: PinotAccess) -> Condition:
        """The write."""
        return WriteIsPublished(self.table, self.write_id)


class PinotOffsetsSensor(PinotSensor):
    """Waits until a realtime table has read its stream up to offsets.

    Args:
        table: With or without ``_REALTIME``.
        offsets: The offset of each partition that is the next to be read, by number; default: where the
            stream ends when the sensor begins, which is read from it.
        kwargs: As :class:`PinotSensor`.
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
                "the stream's ends would be others at each look",
                remedy="give offsets, or let it be deferrable",
            )

    def condition(self, access: PinotAccess) -> Condition:
        """The offsets, or the stream's ends."""
        if self.offsets is not None:
            return OffsetsAreRead(self.table, {str(n): int(offset) for n, offset in self.offsets.items()})
        ends = access.table_control(self.table).stream()
        return OffsetsAreRead(self.table, {str(number): each.latest for number, each in ends.items()})


class PinotUpsertSensor(PinotSensor):
    """Waits until all servers of an upsert table are complete up to a version or a time: its mark.

    Args:
        table: With or without ``_REALTIME``.
        version: The version.
        at: A time with its zone, in ISO 8601 or as ``datetime``: the mark's version was complete then, or
            later.
        kwargs: As :class:`PinotSensor`.
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
            raise ConfigError("neither a version nor a time is given", expected="version, at or both")
        self.table = table
        self.version = version
        self.at = at

    def condition(self, access: PinotAccess) -> Condition:
        """The mark."""
        version = None if self.version is None else int(self.version)
        return MarkReaches(self.table, version, None if self.at is None else epoch_ms(self.at, "at"))


class PinotDataSensor(PinotSensor):
    """Waits until queries see a row of a time, or of a later one.

    Args:
        table: Name of the table; without type, a hybrid table counts as one.
        until: The time with its zone, in ISO 8601 or as ``datetime``; by default the end of the run's data
            interval.
        column: The column of the time; default: the table's time column.
        kwargs: As :class:`PinotSensor`.
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
        """The time."""
        return DataReaches(self.table, epoch_ms(self.until, "until"), self.column)
