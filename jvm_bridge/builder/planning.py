"""Decides, without a JVM and without IO, whether Arrow gives the same segment as Pinot's own reader, and how.

The decisions follow the code of Pinot 0.11.0 and 1.5.1 (``CompositeTransformer``, ``RecordTransformerUtils``,
``DataTypeTransformer``, ``PinotDataType``, the record readers and extractors), and ``tests/contract``
verifies them. Anything that is not known to be the same is :class:`Unsuitable`: the caller falls back to
Pinot's reader, whose result or error is authoritative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pyarrow as pa

from controller_client.common.arrow_types import NUMBER_TYPES
from jvm_bridge.time_conversion import time_steps

__all__ = [
    "DECIMAL",
    "FIXED_WIDTH",
    "MIXED",
    "NESTED",
    "ColumnPlan",
    "Conversion",
    "Field",
    "TableRequirements",
    "Transform",
    "Unsuitable",
    "is_foreign",
    "odd_ingestion_keys",
    "plan_column",
    "plan_table",
]

FIXED_WIDTH: Mapping[str, str] = {
    "INT": "<i4",
    "LONG": "<i8",
    "FLOAT": "<f4",
    "DOUBLE": "<f8",
    "BOOLEAN": "<i4",
    "TIMESTAMP": "<i8",
}
"""Data types that Pinot stores with a fixed width, with their memory layout."""

DECIMAL = pa.decimal256(76, 0)
"""Stands for the type of a source column that has decimal numbers, given as texts with all their digits."""
NESTED = pa.struct([])
"""Stands for the type of a source column that has lists of lists, maps or structs, given as JSON."""
MIXED = pa.sparse_union([])
"""Stands for the type of a source column with values of several types, given as JSON; it is read by row."""

_DEFAULT_MAX_LENGTH = 512
_KNOWN_TYPES = frozenset([*FIXED_WIDTH, "STRING", "BYTES", "JSON", "BIG_DECIMAL"])
_SINGLE_VALUE_ONLY = frozenset(["JSON", "BIG_DECIMAL"])
_MULTI_VALUE_SINCE_1 = frozenset(["BOOLEAN", "TIMESTAMP", "BYTES"])
# Pinot parses JSON and writes it again, and it parses decimals in its own way.
_ALWAYS_LATE = frozenset(["JSON", "BIG_DECIMAL"])
# Keys of an ingestionConfig that do not affect the rows of a batch build. Pinot 1.x writes keys with a
# default into every ingestionConfig.
_HARMLESS = frozenset(
    [
        "transformConfigs",  # evaluated over columns, as is the filter
        "filterConfig",
        "batchIngestionConfig",
        "streamIngestionConfig",
        "aggregationConfigs",
        "segmentTimeValueCheck",
        "ingestionExceptionLogRateLimitPerMin",
        "retryOnSegmentBuildPrecheckFailure",
    ]
)


class Unsuitable(Exception):  # noqa: N818 - a decision, not a failure; it stays inside the package
    """Arrow is not certain to give the same result as Pinot's reader; the text has the reason."""


class Conversion(StrEnum):
    """How a column of the source becomes a column of the table."""

    MISSING = "the source has no such column: null in every row"
    SAME = "the stored form is the source's own"
    NUMBER = "a number with another width, which must fit; of a date, its days since 1970"
    NUMBER_TO_BOOLEAN = "1 is true, 0 is false"
    TO_TEXT = "integers, booleans and dates as Java writes them"
    TEXT_TO_NUMBER = "parsed as Java parses"
    TEXT_TO_BOOLEAN = "'true' or 'false' in any case, 1 or 0"
    HEX_TO_BYTES = "two hexadecimal digits per byte"
    TO_STEPS = "a point in time in the column's unit since the epoch"
    LATE = "text that Pinot's own DataTypeTransformer converts"


@dataclass(frozen=True)
class Field:
    """A column of the schema.

    Attributes:
        step_ns: The unit of a time column in nanoseconds; None for other columns.
    """

    name: str
    data_type: str
    single_value: bool
    max_length: int
    step_ns: int | None = None


@dataclass(frozen=True)
class Transform:
    """A column that Pinot computes, and the function in Pinot's own language."""

    column: str
    function: str


@dataclass(frozen=True)
class TableRequirements:
    """The requirements of a table for every source.

    Attributes:
        fields: The fields that are filled from the source's columns.
        time_column: The table's time column.
        with_nulls: Whether the table stores which values are null.
        derived: The fields that transforms fill.
        transforms: The transforms; columns that are not fields of the table are inputs of other transforms.
        filter_function: The filter, which is true for rows to be dropped.
        arguments: Columns that a source returns with the values of Pinot's reader, if it has them: those that
            functions read, and those that transforms fill if they have no value.
    """

    fields: tuple[Field, ...]
    time_column: str | None
    with_nulls: bool
    derived: tuple[Field, ...] = ()
    transforms: tuple[Transform, ...] = ()
    filter_function: str | None = None
    arguments: frozenset[str] = frozenset()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read from a source: those of the fields, and the arguments."""
        return tuple(dict.fromkeys([*(field.name for field in self.fields), *sorted(self.arguments)]))

    @property
    def int_columns(self) -> frozenset[str]:
        """The table's columns of type INT, however they are filled."""
        return frozenset(field.name for field in (*self.fields, *self.derived) if field.data_type == "INT")

    @property
    def has_expressions(self) -> bool:
        """Whether there are transforms or a filter."""
        return bool(self.transforms) or self.filter_function is not None


@dataclass(frozen=True)
class ColumnPlan:
    """How one field is filled."""

    field: Field
    conversion: Conversion

    @property
    def is_late(self) -> bool:
        """Whether it is written as text that Pinot's DataTypeTransformer converts to the stored form."""
        return self.conversion is Conversion.LATE or self.field.data_type in _ALWAYS_LATE

    @property
    def is_text(self) -> bool:
        """Whether it is written as texts or bytes, not as numbers."""
        return self.is_late or self.field.data_type not in FIXED_WIDTH


def plan_table(
    table_config: Mapping[str, Any], schema: Mapping[str, Any], *, of_pinot_1: bool = True
) -> TableRequirements:
    """Read the plan from the table config and the schema.

    Args:
        table_config: The table's config, as returned by Pinot's REST API.
        schema: Its schema, likewise.
        of_pinot_1: Whether Pinot is 1.0 or later: 0.11 cannot write some multi-values.

    Raises:
        Unsuitable: Rows are unnested or derived from maps, or a type is not supported.
    """
    ingestion = table_config.get("ingestionConfig") or {}
    for key in odd_ingestion_keys(ingestion):
        raise Unsuitable(f"the table config has ingestionConfig.{key}")
    for field_config in table_config.get("fieldConfigList") or ():
        if "TIMESTAMP" in [field_config.get("indexType"), *(field_config.get("indexTypes") or ())]:
            raise Unsuitable(f"column {field_config.get('name')} has a timestamp index")
    if schema.get("complexFieldSpecs"):
        raise Unsuitable("the schema has complex fields")
    fields = tuple(_fields(schema))
    for field in fields:
        if not (of_pinot_1 or field.single_value) and field.data_type in _MULTI_VALUE_SINCE_1:
            raise Unsuitable(f"field {field.name} is multi-value {field.data_type}")
    segments = table_config.get("segmentsConfig") or {}
    indexing = table_config.get("tableIndexConfig") or {}
    transforms = _transforms(ingestion, schema)
    computed = {transform.column for transform in transforms}
    return TableRequirements(
        fields=tuple(field for field in fields if field.name not in computed),
        time_column=segments.get("timeColumnName") or None,
        with_nulls=_true(indexing.get("nullHandlingEnabled"))
        or _true(schema.get("enableColumnBasedNullHandling")),
        derived=tuple(field for field in fields if field.name in computed),
        transforms=transforms,
        filter_function=(ingestion.get("filterConfig") or {}).get("filterFunction") or None,
    )


def odd_ingestion_keys(ingestion: Mapping[str, Any]) -> list[str]:
    """Return the keys of an ``ingestionConfig`` that may affect rows in ways that are not known here.

    An empty object is a value: an empty ``complexTypeConfig`` makes Pinot flatten maps.
    """
    set_keys = [key for key, value in ingestion.items() if value or isinstance(value, Mapping)]
    return [key for key in set_keys if key not in _HARMLESS]


def _transforms(ingestion: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Transform, ...]:
    configs = ingestion.get("transformConfigs") or ()
    transforms = [
        Transform(str(each.get("columnName")), str(each.get("transformFunction"))) for each in configs
    ]
    columns = {transform.column for transform in transforms}
    if len(columns) < len(transforms):
        raise Unsuitable("a column has two transforms")
    kinds = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    of_fields = [
        Transform(str(spec.get("name")), str(spec["transformFunction"]))
        for spec in (spec for kind in kinds for spec in schema.get(kind) or ())
        if spec.get("transformFunction")
    ]
    # The table config takes precedence.
    return (*transforms, *(transform for transform in of_fields if transform.column not in columns))


def _true(value: object) -> bool:
    return value is True or str(value).lower() == "true"


def _fields(schema: Mapping[str, Any]) -> list[Field]:
    specs = [*(schema.get("dimensionFieldSpecs") or ()), *(schema.get("metricFieldSpecs") or ())]
    specs += schema.get("dateTimeFieldSpecs") or ()
    time_spec = schema.get("timeFieldSpec")
    if time_spec:
        outgoing = time_spec.get("outgoingGranularitySpec")
        incoming = time_spec.get("incomingGranularitySpec") or {}
        if (outgoing and outgoing != incoming) or time_spec.get("transformFunction"):
            raise Unsuitable("the time field converts between granularities")
        specs.append({**time_spec, "name": incoming.get("name"), "dataType": incoming.get("dataType")})
    steps = time_steps(schema)
    return [_field(spec, steps) for spec in specs if not spec.get("virtualColumnProvider")]


def _field(spec: Mapping[str, Any], steps: Mapping[str, int]) -> Field:
    name, data_type = str(spec.get("name")), str(spec.get("dataType"))
    single_value = str(spec.get("singleValueField", True)).lower() != "false"
    if name.endswith(("__KEYS", "__VALUES")):
        raise Unsuitable(f"field {name} is derived from a map")
    if data_type not in _KNOWN_TYPES or (not single_value and data_type in _SINGLE_VALUE_ONLY):
        raise Unsuitable(f"field {name} is {'' if single_value else 'multi-value '}{data_type}")
    # Texts are always truncated; JSON and BYTES only since 1.2, with this strategy.
    strategy = spec.get("maxLengthExceedStrategy")
    if strategy is not None and (data_type, strategy) != ("STRING", "TRIM_LENGTH"):
        raise Unsuitable(f"field {name} has a maxLengthExceedStrategy")
    max_length = int(spec.get("maxLength", _DEFAULT_MAX_LENGTH))
    return Field(name, data_type, single_value, max_length, steps.get(name))


def plan_column(field: Field, source: pa.DataType | None) -> ColumnPlan:
    """Decide how a field is filled from a source column of an Arrow type.

    Args:
        field: The field.
        source: The source's type (lists only for a multi-value field); None if it has no such column.

    Raises:
        Unsuitable: Arrow is not certain to convert the column as Pinot does.
    """
    if source is None or pa.types.is_null(source):
        return ColumnPlan(field, Conversion.MISSING)
    values = source
    if pa.types.is_list(source) or pa.types.is_large_list(source):
        if field.single_value:
            raise Unsuitable(
                f"column {field.name} is single-value in the schema, but has lists in the source"
            )
        values = source.value_type
    conversion = _conversion(field, values)
    if conversion is None:
        raise Unsuitable(f"column {field.name} is {source} in the source and {field.data_type} in the schema")
    return ColumnPlan(field, conversion)


def _conversion(field: Field, source: pa.DataType) -> Conversion | None:
    if pa.types.is_string(source) or pa.types.is_large_string(source):
        return _TEXT[field.data_type]
    if pa.types.is_binary(source) or pa.types.is_large_binary(source):
        return Conversion.SAME if field.data_type == "BYTES" else None
    if pa.types.is_boolean(source):
        return {"BOOLEAN": Conversion.SAME, "STRING": Conversion.TO_TEXT}.get(field.data_type)
    if pa.types.is_integer(source):
        return _integer_conversion(field, source)
    if pa.types.is_float32(source) or pa.types.is_float64(source):
        if field.data_type not in NUMBER_TYPES:
            return None
        return Conversion.SAME if NUMBER_TYPES[field.data_type] == source else Conversion.NUMBER
    if pa.types.is_timestamp(source):
        takes_times = field.step_ns is not None or field.data_type in {"LONG", "TIMESTAMP"}
        return Conversion.TO_STEPS if takes_times else None
    if pa.types.is_date32(source):
        return _date_conversion(field)
    if source == DECIMAL:
        return _DECIMAL.get(field.data_type)
    if source == NESTED:
        return {"JSON": Conversion.LATE, "STRING": Conversion.SAME}.get(field.data_type)
    return None


_TEXT: Mapping[str, Conversion] = {
    "INT": Conversion.TEXT_TO_NUMBER,
    "LONG": Conversion.TEXT_TO_NUMBER,
    "FLOAT": Conversion.TEXT_TO_NUMBER,
    "DOUBLE": Conversion.TEXT_TO_NUMBER,
    "BOOLEAN": Conversion.TEXT_TO_BOOLEAN,
    "STRING": Conversion.SAME,
    "BYTES": Conversion.HEX_TO_BYTES,
    "TIMESTAMP": Conversion.LATE,
    "JSON": Conversion.LATE,
    "BIG_DECIMAL": Conversion.LATE,
}


_DECIMAL: Mapping[str, Conversion] = {
    kind: _TEXT[kind] for kind in ("INT", "LONG", "FLOAT", "DOUBLE", "STRING", "JSON", "BIG_DECIMAL")
}


def _date_conversion(field: Field) -> Conversion | None:
    if field.step_ns is not None or field.data_type == "TIMESTAMP":
        return Conversion.TO_STEPS
    if field.data_type in NUMBER_TYPES:
        return Conversion.NUMBER
    return Conversion.TO_TEXT if field.data_type == "STRING" else None


def _integer_conversion(field: Field, source: pa.DataType) -> Conversion | None:
    if field.data_type in NUMBER_TYPES:
        return Conversion.SAME if NUMBER_TYPES[field.data_type] == source else Conversion.NUMBER
    if field.data_type == "TIMESTAMP":
        return Conversion.SAME if source == pa.int64() else Conversion.NUMBER
    return {"BOOLEAN": Conversion.NUMBER_TO_BOOLEAN, "STRING": Conversion.TO_TEXT}.get(field.data_type)


def is_foreign(fields: Sequence[Field], names: Sequence[str]) -> bool:
    """Return whether a source with these column names has none of the fields, so it is for another table."""
    return bool(names) and not {field.name for field in fields} & set(names)
