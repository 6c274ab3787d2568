"""Pinot's own row transformers: those that values still need, and the defaults that they use for nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jvm_bridge.builder.pinot_classes import has_class, has_constructor, java_class
from jvm_bridge.builder.planning import ColumnPlan, Unsuitable

__all__ = ["late_transformers", "null_defaults", "pipeline_for", "replaces_special_values"]

_TRANSFORMERS = "org.apache.pinot.segment.local.recordtransformer."
_PIPELINE = "org.apache.pinot.segment.local.segment.creator.TransformPipeline"
_SPECIAL_VALUES = _TRANSFORMERS + "SpecialValueTransformer"


def _sub_schema(schema: Any, names: Sequence[str]) -> Any:
    """Return a schema with only some fields."""
    part = java_class("org.apache.pinot.spi.data.Schema")()
    for name in names:
        part.addField(schema.getFieldSpecFor(name))
    return part


def pipeline_for(table_config: Any, schema: Any, late: Sequence[str], *, special_values: bool = True) -> Any:
    """Return the transforms that the rows still need: none, or those of late columns.

    Args:
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        late: Columns with a text, or another form, that still has to be converted to the stored form.
        special_values: Whether special values still have to be replaced.
    """
    transformers = java_class("java.util.ArrayList")()
    if late:
        of_late = late_transformers(table_config, schema, late)
        for transformer in of_late if special_values else of_late[:1]:
            transformers.add(transformer)
    pipeline = java_class(_PIPELINE)
    if has_constructor(pipeline, "java.lang.String", "java.util.List"):  # since 1.4
        return pipeline(table_config.getTableName(), transformers)
    return pipeline(java_class(_TRANSFORMERS + "CompositeTransformer")(transformers), None)


def late_transformers(table_config: Any, schema: Any, late: Sequence[str]) -> list[Any]:
    """Return Pinot's transformers that convert the text of a late column to its stored form.

    Args:
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        late: The columns.
    """
    schema = _sub_schema(schema, late)
    data_types = java_class(_TRANSFORMERS + "DataTypeTransformer")
    of_schema = has_constructor(data_types, "org.apache.pinot.spi.data.Schema")
    transformers = [data_types(schema) if of_schema else data_types(table_config, schema)]
    if replaces_special_values():
        transformers.append(java_class(_SPECIAL_VALUES)(schema))
    return transformers


def replaces_special_values() -> bool:
    """Return whether Pinot replaces NaN by null and negative zero by zero.

    It does so since 1.1, and since 1.4 it also drops trailing zeros of a BIG_DECIMAL.
    """
    return has_class(_SPECIAL_VALUES)


def null_defaults(table_config: Any, schema: Any, plans: Sequence[ColumnPlan]) -> Mapping[str, Any]:
    """Return the values that Pinot's ``NullValueTransformer`` stores for nulls, in Python, by field name.

    For the time column this may be the current time. For a multi-value field it is the only value, for a late
    column the text that Pinot converts to the default.

    Raises:
        Unsuitable: Pinot does not convert the text of a late column's default to the default.
    """
    row = java_class("org.apache.pinot.spi.data.readers.GenericRow")()
    # In place; since 1.4 it has no return value.
    java_class(_TRANSFORMERS + "NullValueTransformer")(table_config, schema).transform(row)
    defaults = {plan.field.name: _python_value(plan, row.getValue(plan.field.name)) for plan in plans}
    late = [plan.field.name for plan in plans if plan.is_late]
    if late:
        texts = java_class("org.apache.pinot.spi.data.readers.GenericRow")()
        for name in late:
            texts.putValue(name, java_class("java.lang.String")(defaults[name]))
        for transformer in late_transformers(table_config, schema, late):
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
