"""The times of a segment's rows: each is checked, and the segment's own times are taken from them.

``SegmentTimes.java`` does it for rows, after all transforms. Here it is done for whole columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype
import numpy as np
import pyarrow.compute as pc

from controller_client.errors import ConfigError
from jvm_bridge.builder.columnar.stored import FixedColumn, StoredColumn, TextColumn, text_bytes
from jvm_bridge.builder.pinot_classes import has_default_time, java_class
from jvm_bridge.builder.planning import ColumnPlan, Conversion, Unsuitable
from jvm_bridge.builder.transformers import ROWS_PACKAGE, row_classes
from jvm_bridge.java_errors import JAVA_ERRORS

__all__ = ["ColumnTimes", "has_zone", "segment_times", "with_default_times"]

_KINDS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")


def has_zone(name: str) -> bool:
    """Return whether Java knows a time zone."""
    return bool(java_class("java.time.ZoneId").getAvailableZoneIds().contains(name))


def with_default_times(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema whose defaults of columns of type TIMESTAMP are milliseconds instead of texts.

    The controller writes the texts in its own time zone, normally UTC. Pinot would convert them in that of
    this process.

    Args:
        schema: The schema as returned by Pinot's REST API.

    Raises:
        ConfigError: A default is not a time.
    """
    specs = [spec for kind in _KINDS for spec in schema.get(kind) or () if _is_text(spec)]
    if not specs:
        return schema
    texts = row_classes()[f"{ROWS_PACKAGE}.TimestampText"]("UTC")
    changed = dict(schema)
    for kind in _KINDS:
        changed[kind] = [
            {**spec, "defaultNullValue": _millis(texts, spec)} if spec in specs else spec
            for spec in schema.get(kind) or ()
        ]
    return changed


def _is_text(spec: Mapping[str, Any]) -> bool:
    return spec.get("dataType") == "TIMESTAMP" and isinstance(spec.get("defaultNullValue"), str)


def _millis(texts: Any, spec: Mapping[str, Any]) -> int:
    try:
        return int(texts.millis(spec["defaultNullValue"]))
    except JAVA_ERRORS as error:
        raise ConfigError(
            f"the defaultNullValue of column {spec.get('name')} is {spec['defaultNullValue']!r}",
            expected="milliseconds since 1970, or yyyy-MM-dd HH:mm:ss[.SSS]",
        ) from error


def segment_times(config: Any, zone: str) -> Any | None:
    """Return Java's ``SegmentTimes`` of a segment; None if its table has no time column.

    Args:
        config: Pinot's ``SegmentGeneratorConfig``.
        zone: Time zone of texts in columns of type TIMESTAMP.
    """
    column = config.getTimeColumnName()
    if column is None:
        return None
    has_default = has_default_time(config.getSchema(), column)
    return row_classes()[f"{ROWS_PACKAGE}.SegmentTimes"](config, zone, jpype.JBoolean(has_default))


class ColumnTimes:
    """Checks the time column of a segment that is built from columns.

    Args:
        config: Pinot's ``SegmentGeneratorConfig``.
        zone: Time zone of texts in columns of type TIMESTAMP.
    """

    def __init__(self, config: Any, zone: str) -> None:
        self._java: Any = segment_times(config, zone)
        self._column = str(config.getTimeColumnName())
        self._has_default = has_default_time(config.getSchema(), self._column)

    def add(self, plan: ColumnPlan, stored: StoredColumn, rows_before: int) -> None:
        """Add rows.

        Args:
            plan: The column; only the time column counts.
            stored: Its values.
            rows_before: Rows of the segment before these.

        Raises:
            Unsuitable: A row has no time that can be used.
        """
        if self._java is None or plan.field.name != self._column:
            return
        if plan.conversion is Conversion.MISSING and not self._has_default:
            raise Unsuitable(f"it lacks the time column {self._column!r}")
        if not isinstance(stored, FixedColumn | TextColumn):
            raise Unsuitable(f"the time column {self._column} has several values")
        if stored.nulls is not None and not self._has_default:
            row = rows_before + int(np.argmax(stored.nulls)) + 1
            raise Unsuitable(f"row {row}, field {self._column}: the row has no time")
        if isinstance(stored, TextColumn):
            self._add_texts(stored.values, rows_before)
        elif stored.values.dtype.kind == "i":
            values = stored.values
            distinct = np.unique(values) if self._java.isDate() else np.array([values.min(), values.max()])
            bad = int(self._java.add(jpype.JArray.of(distinct.astype(np.int64))))
            if bad >= 0:
                self._refuse(distinct[bad], int(np.argmax(values == distinct[bad])), rows_before)
        else:
            raise Unsuitable(f"the time column {self._column} is {plan.field.data_type}")

    def _add_texts(self, texts: Any, rows_before: int) -> None:
        distinct = pc.unique(texts)
        offsets, data = text_bytes(distinct)
        if offsets[-1] > np.iinfo(np.int32).max:
            raise Unsuitable(f"the texts of the time column {self._column} take more than 2 GiB in a batch")
        ends = jpype.JArray.of(offsets[1:].astype(np.int32))
        bad = int(self._java.add(jpype.JArray.of(np.ascontiguousarray(data.view(np.int8))), ends))
        if bad >= 0:
            value = distinct[bad]
            self._refuse(value.as_py().decode(), pc.index(texts, value).as_py(), rows_before)

    def _refuse(self, value: Any, row: int, rows_before: int) -> None:
        row += rows_before + 1
        raise Unsuitable(f"row {row}, field {self._column}: found {str(value)!r}; {self._java.reason()}")
