"""Pinot's own row transformers: those that values still need, and the defaults that they use for nulls.

In front of Pinot's ``DataTypeTransformer``, which changes values that do not fit without an error, there is
always our ``ExactValues``: every row passes it, whatever read the row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from controller_client.errors import UnsupportedError
from jvm_bridge.builder.java_classes import classes_of
from jvm_bridge.builder.pinot_classes import has_class, has_constructor, has_method, java_class
from jvm_bridge.builder.planning import ColumnPlan, Unsuitable

__all__ = [
    "ROWS_PACKAGE",
    "conversion",
    "late_transformers",
    "null_defaults",
    "pipeline_for",
    "processor",
    "replaces_special_values",
    "row_classes",
    "row_pipeline",
]

ROWS_PACKAGE = "io.pinotplugins.rows"
_TRANSFORMERS = "org.apache.pinot.segment.local.recordtransformer."
_PIPELINE = "org.apache.pinot.segment.local.segment.creator.TransformPipeline"
_SPECIAL_VALUES = _TRANSFORMERS + "SpecialValueTransformer"
_ROW = "org.apache.pinot.spi.data.readers.GenericRow"


def row_classes() -> Mapping[str, Any]:
    """Return our Java classes for rows, by name.

    Raises:
        UnsupportedError: They do not support this Pinot, or this Java has no compiler.
    """
    try:
        return classes_of("rows cannot be read for", ROWS_PACKAGE)
    except Unsuitable as reason:
        raise UnsupportedError(
            str(reason), expected="a JDK, not only a JRE, and Pinot 0.11, or 1.3 to 1.6"
        ) from reason


def _sub_schema(schema: Any, names: Sequence[str]) -> Any:
    """Return a schema with only some fields."""
    part = java_class("org.apache.pinot.spi.data.Schema")()
    for name in names:
        part.addField(schema.getFieldSpecFor(name))
    return part


def _exact_values(classes: Mapping[str, Any], schema: Any, zone: str, computed: Collection[str] = ()) -> Any:
    specs = [spec for spec in schema.getAllFieldSpecs() if not spec.isVirtualColumn()]
    return classes[f"{ROWS_PACKAGE}.ExactValues"](
        java_class("java.util.ArrayList")(specs), java_class("java.util.HashSet")(list(computed)), zone
    )


def _exact_transformer(schema: Any, zone: str, computed: Collection[str] = ()) -> Any:
    exact = _exact_values(row_classes(), schema, zone, computed)
    return _step(exact, exact.names())


def _step(step: Any, columns: Any) -> Any:
    """Return a step of ours as Pinot's ``RecordTransformer``."""
    transformer = "org.apache.pinot.spi.recordtransformer.RecordTransformer"  # since 1.0
    if not has_class(transformer):
        transformer = _TRANSFORMERS + "RecordTransformer"
    return row_classes()[f"{ROWS_PACKAGE}.RowStep"].of(java_class(transformer).class_, step, columns)


def conversion(
    classes: Mapping[str, Any],
    table_config: Any,
    schema: Any,
    names: Sequence[str],
    zone: str,
    *,
    computed: bool,
) -> tuple[Any, Any]:
    """Return what converts values of columns to their stored form: our ``ExactValues``, Pinot's transformer.

    Args:
        classes: Java's classes by name.
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        names: The columns.
        zone: Time zone of texts in columns of type TIMESTAMP.
        computed: Whether transforms of the table compute them.
    """
    schema = _sub_schema(schema, names)
    exact = _exact_values(classes, schema, zone, names if computed else ())
    return exact, _data_types(table_config, schema)


def row_pipeline(config: Any, zone: str, times: Any | None) -> Any:
    """Return Pinot's pipeline of the table's transforms, with ours among them.

    Args:
        config: Pinot's ``SegmentGeneratorConfig``.
        zone: Time zone of texts in columns of type TIMESTAMP.
        times: The check of the rows' times; None without a time column.

    Raises:
        UnsupportedError: See :func:`row_classes`.
    """
    table_config, schema = config.getTableConfig(), config.getSchema()
    ours = (_exact_transformer(schema, zone, _computed(table_config, schema)), _times_steps(config, times))
    pipeline = java_class(_PIPELINE)
    if has_constructor(pipeline, "java.lang.String", "java.util.List"):  # since 1.4
        utils = java_class(_TRANSFORMERS + "RecordTransformerUtils")
        transformers = _with_ours(ours, utils.getDefaultTransformers(table_config, schema))
        return pipeline(table_config.getTableName(), transformers)
    composite = java_class(_TRANSFORMERS + "CompositeTransformer")
    default = composite.getDefaultTransformer(table_config, schema)
    field = default.getClass().getDeclaredField("_transformers")
    field.setAccessible(True)
    unnesting = java_class(_TRANSFORMERS + "ComplexTypeTransformer").getComplexTypeTransformer(table_config)
    return pipeline(composite(_with_ours(ours, field.get(default))), unnesting)


def _with_ours(ours: tuple[Any, Sequence[Any]], transformers: Any) -> Any:
    types = java_class(_TRANSFORMERS + "DataTypeTransformer")
    place = next(number for number, each in enumerate(transformers) if isinstance(each, types))
    changed = java_class("java.util.ArrayList")(transformers)
    changed.add(place, ours[0])
    changed.addAll(ours[1])
    return changed


def _times_steps(config: Any, times: Any | None) -> list[Any]:
    if times is None:
        return []
    return [_step(times, java_class("java.util.Collections").singleton(config.getTimeColumnName()))]


def _computed(table_config: Any, schema: Any) -> set[str]:
    """Return the columns that transforms of the table fill."""
    ingestion = table_config.getIngestionConfig()
    configs = None if ingestion is None else ingestion.getTransformConfigs()
    names = {str(config.getColumnName()) for config in configs or ()}
    return names | {str(spec.getName()) for spec in schema.getAllFieldSpecs() if spec.getTransformFunction()}


def processor(pipeline: Any) -> Callable[[Any], object]:
    """Return a function that passes a ``GenericRow`` through a pipeline."""
    if has_method(java_class(_PIPELINE), "processRow", _ROW, f"{_PIPELINE}$Result"):
        result = java_class(f"{_PIPELINE}$Result")()  # until 1.3
        return lambda record: pipeline.processRow(record, result)
    return lambda record: pipeline.processRow(record)


def pipeline_for(config: Any, late: Sequence[str] = (), times: Any | None = None) -> Any:
    """Return the transforms that stored rows still need: none, or those of columns in another form.

    Args:
        config: Pinot's ``SegmentGeneratorConfig``.
        late: Columns with a form that Pinot's ``DataTypeTransformer`` converts to the stored one.
        times: The check of the rows' times; None if there is nothing to check.
    """
    table_config, schema = config.getTableConfig(), config.getSchema()
    transformers = java_class("java.util.ArrayList")(_times_steps(config, times))
    if late:
        transformers.add(0, _data_types(table_config, _sub_schema(schema, late)))
    pipeline = java_class(_PIPELINE)
    if has_constructor(pipeline, "java.lang.String", "java.util.List"):  # since 1.4
        return pipeline(table_config.getTableName(), transformers)
    return pipeline(java_class(_TRANSFORMERS + "CompositeTransformer")(transformers), None)


def _data_types(table_config: Any, schema: Any) -> Any:
    data_types = java_class(_TRANSFORMERS + "DataTypeTransformer")
    of_schema = has_constructor(data_types, "org.apache.pinot.spi.data.Schema")
    return data_types(schema) if of_schema else data_types(table_config, schema)


def late_transformers(table_config: Any, schema: Any, late: Sequence[str], zone: str) -> list[Any]:
    """Return the transformers that convert the text of a late column to its stored form.

    Args:
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        late: The columns.
        zone: Time zone of texts in columns of type TIMESTAMP.
    """
    schema = _sub_schema(schema, late)
    transformers = [_exact_transformer(schema, zone), _data_types(table_config, schema)]
    if replaces_special_values():
        transformers.append(java_class(_SPECIAL_VALUES)(schema))
    return transformers


def replaces_special_values() -> bool:
    """Return whether Pinot replaces NaN by null and negative zero by zero.

    It does so since 1.1, and since 1.4 it also drops trailing zeros of a BIG_DECIMAL.
    """
    return has_class(_SPECIAL_VALUES)


def null_defaults(
    table_config: Any, schema: Any, plans: Sequence[ColumnPlan], zone: str
) -> Mapping[str, Any]:
    """Return the values that Pinot's ``NullValueTransformer`` stores for nulls, in Python, by field name.

    For the time column this may be the current time. For a multi-value field it is the only value, for a late
    column the text that Pinot converts to the default.

    Raises:
        Unsuitable: Pinot does not convert the text of a late column's default to the default.
    """
    row = java_class(_ROW)()
    # In place; since 1.4 it has no return value.
    java_class(_TRANSFORMERS + "NullValueTransformer")(table_config, schema).transform(row)
    defaults = {plan.field.name: _python_value(plan, row.getValue(plan.field.name)) for plan in plans}
    late = [plan.field.name for plan in plans if plan.is_late]
    if late:
        texts = java_class(_ROW)()
        for name in late:
            texts.putValue(name, java_class("java.lang.String")(defaults[name]))
        for transformer in late_transformers(table_config, schema, late, zone):
            transformer.transform(texts)
        for name in late:
            if not row.getValue(name).equals(texts.getValue(name)):
                raise Unsuitable(f"Pinot converts the text of column {name}'s default to another value")
    return defaults


def _python_value(plan: ColumnPlan, value: Any) -> Any:
    if not plan.field.single_value:
        value = value[0]
    data_type = plan.field.data_type
    if data_type == "STRING":
        return _sanitized(plan, str(value))
    if plan.is_late:
        return str(value)
    if data_type == "BYTES":
        return bytes(value)
    return float(value) if data_type in {"FLOAT", "DOUBLE"} else int(value)


def _sanitized(plan: ColumnPlan, default: str) -> str:
    # Pinot's SanitizationTransformer runs after its NullValueTransformer, so it truncates defaults too, at
    # UTF-16 units.
    units = default.split("\0")[0].encode("utf-16-le")[: 2 * plan.field.max_length]
    try:
        return units.decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise Unsuitable(
            f"the default of column {plan.field.name} is truncated inside a character"
        ) from error
