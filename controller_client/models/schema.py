"""A schema (org.apache.pinot.spi.data.Schema)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field, field_validator

from controller_client.models.base import PinotModel

__all__ = ["FieldRole", "FieldSpec", "Schema", "SchemaField"]


class FieldRole(StrEnum):
    """The role of a field (FieldSpec.FieldType)."""

    DIMENSION = "DIMENSION"
    METRIC = "METRIC"
    DATE_TIME = "DATE_TIME"
    TIME = "TIME"


@dataclass(frozen=True)
class SchemaField:
    """A field of a schema, from any of its lists.

    Attributes:
        name: Column name.
        data_type: Pinot's data type, e.g. ``INT``, ``STRING``, ``TIMESTAMP``.
        single_value: False for a multi-value column.
        role: Dimension, metric or time.
        default_null_value: The value that stands for null in the column; None: Pinot's default for the type.
        format: Format of a time column, e.g. ``1:MILLISECONDS:EPOCH``; None for others.
    """

    name: str
    data_type: str
    single_value: bool
    role: FieldRole
    default_null_value: object = None
    format: str | None = None


class FieldSpec(PinotModel):
    """An entry of one of the schema's field lists."""

    name: str
    data_type: str
    single_value_field: bool = True
    default_null_value: Any = None
    format: str | None = None
    granularity: str | None = None


class Schema(PinotModel):
    """A table's schema; ``fields`` reads all of its lists."""

    schema_name: str
    dimension_field_specs: list[FieldSpec] = Field(default_factory=list)
    metric_field_specs: list[FieldSpec] = Field(default_factory=list)
    date_time_field_specs: list[FieldSpec] = Field(default_factory=list)
    time_field_spec: dict[str, Any] | None = None
    primary_key_columns: list[str] | None = None

    @field_validator("time_field_spec")
    @classmethod
    def _has_granularity(cls, spec: dict[str, Any] | None) -> dict[str, Any] | None:
        if spec:
            granularity = spec.get("outgoingGranularitySpec") or spec.get("incomingGranularitySpec")
            if not isinstance(granularity, dict) or not {"name", "dataType"} <= granularity.keys():
                raise ValueError("a granularity spec with name and dataType is missing")
        return spec

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        """All fields: dimensions, metrics, date-times, then the old time field."""
        return tuple(self._fields())

    def field(self, name: str) -> SchemaField | None:
        """Return a field by its column name; None if there is none."""
        return next((field for field in self._fields() if field.name == name), None)

    def _fields(self) -> Iterator[SchemaField]:
        for role, specs in (
            (FieldRole.DIMENSION, self.dimension_field_specs),
            (FieldRole.METRIC, self.metric_field_specs),
            (FieldRole.DATE_TIME, self.date_time_field_specs),
        ):
            for spec in specs:
                yield SchemaField(
                    name=spec.name,
                    data_type=spec.data_type,
                    single_value=spec.single_value_field,
                    role=role,
                    default_null_value=spec.default_null_value,
                    format=spec.format,
                )
        if self.time_field_spec:
            # Segments contain the outgoing granularity, which defaults to the incoming one.
            spec_of_time = self.time_field_spec
            granularity = (
                spec_of_time.get("outgoingGranularitySpec") or spec_of_time["incomingGranularitySpec"]
            )
            size, unit = granularity.get("timeUnitSize", 1), granularity.get("timeType")
            time_format = f"{size}:{unit}:{granularity.get('timeFormat', 'EPOCH')}"
            yield SchemaField(
                granularity["name"], granularity["dataType"], True, FieldRole.TIME, format=time_format
            )
