"""Evaluates a group of transforms, possibly with the filter, over a batch of columns: by Pinot's classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from controller_client.common.arrow_types import NUMBER_TYPES
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.expressions.groups import Group
from jvm_bridge.builder.expressions.java_columns import argument_of, column_of
from jvm_bridge.builder.java_classes import classes_of
from jvm_bridge.builder.pinot_classes import is_pinot_1, java_class, parse_table_config
from jvm_bridge.builder.planning import Field, TableRequirements, Transform, Unsuitable, plan_column
from jvm_bridge.builder.sources.source import Batch
from jvm_bridge.builder.transformers import ROWS_PACKAGE, conversion
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = ["EvaluatedGroup", "Mask", "arrow_type", "evaluator", "java_classes"]

_PACKAGE = "io.pinotplugins.expressions"
_LOCAL = "org.apache.pinot.segment.local."
_TYPES: Mapping[str, pa.DataType] = {
    **NUMBER_TYPES,
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.int64(),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "JSON": pa.string(),
    "BIG_DECIMAL": pa.string(),
}

Mask = npt.NDArray[np.bool_]


def evaluator(function: str) -> Any:
    """Return Pinot's evaluator of a function; Java exceptions are not caught."""
    return java_class(_LOCAL + "function.FunctionEvaluatorFactory").getExpressionEvaluator(function)


def java_classes() -> Mapping[str, Any]:
    """Return the classes of the package, by name.

    Raises:
        Unsuitable: They do not support this Pinot, or this Java has no compiler.
    """
    return classes_of("transforms and filters cannot be evaluated over columns with", _PACKAGE, ROWS_PACKAGE)


def arrow_type(field: Field) -> pa.DataType:
    """Return the type of a computed column: the type of its stored form."""
    kind = _TYPES[field.data_type]
    return kind if field.single_value else pa.list_(kind)


@dataclass(frozen=True)
class _Distinct:
    """The distinct rows, and for each row the index of the distinct row that equals it."""

    rows: npt.NDArray[np.int64]
    like: npt.NDArray[np.int64]


class EvaluatedGroup:
    """A group with the Java object that evaluates it."""

    def __init__(self, table: PinotTable, plan: TableRequirements, group: Group) -> None:
        self._group = group
        computed = {transform.column for transform in group.transforms}
        self._fields = [field for field in plan.derived if field.name in computed]
        names = [field.name for field in self._fields]
        try:
            self.java = java_classes()[f"{_PACKAGE}.Expressions"](
                _transformer(group.transforms),
                None if group.filter_function is None else evaluator(group.filter_function),
                not is_pinot_1(),
                *conversion(java_classes(), table.config, table.schema, names, table.zone, computed=True),
            )
        except JAVA_ERRORS as error:
            raise Unsuitable(f"{self.description}: {root_causes(error)}") from error
        for field in self._fields:
            stored_type = str(table.schema.getFieldSpecFor(field.name).getDataType().getStoredType())
            is_late = plan_column(field, arrow_type(field)).is_late
            self.java.request(field.name, stored_type, is_late)

    @property
    def description(self) -> str:
        """A description for messages."""
        parts = [f"the transform of column {each.column}" for each in self._group.transforms]
        if self._group.filter_function is not None:
            parts.append("the filter")
        return ", ".join(parts)

    def evaluate(self, batch: Batch, *, has_any_width: bool) -> tuple[Mapping[str, Any], Mask | None]:
        """Evaluate a batch of at least one row.

        Args:
            batch: The batch.
            has_any_width: See :class:`~jvm_bridge.builder.sources.source.Source`.

        Returns:
            The computed fields, and which rows are dropped if there is a filter.

        Raises:
            pyarrow.ArrowInvalid: A text is not UTF-8, or a value does not fit.
            Unsuitable: An argument has an unsupported type.
        """
        names = sorted(self._group.names & batch.arguments.keys())
        columns = [batch.arguments[name] for name in names]
        distinct = None if self._group.by_row else _distinct(columns, batch.rows)
        rows = batch.rows
        if distinct is not None:
            rows = len(distinct.rows)
            columns = [column.take(pa.array(distinct.rows)) for column in columns]
        for name, column in zip(names, columns, strict=True):
            self.java.put(name, argument_of(java_classes(), column, has_any_width=has_any_width))
        self.java.evaluate(rows)
        fields = {field.name: self._result(field) for field in self._fields}
        dropped = None
        if self._group.filter_function is not None:
            dropped = np.array(self.java.dropped(), dtype=np.bool_)
        if distinct is None:
            return fields, dropped
        like = pa.array(distinct.like)
        taken = {name: column.take(like) for name, column in fields.items()}
        return taken, None if dropped is None else dropped[distinct.like]

    def _result(self, field: Field) -> Any:
        kind = _TYPES[field.data_type]
        return column_of(self.java.result(field.name), kind, is_list=not field.single_value)


def _transformer(transforms: Sequence[Transform]) -> Any:
    """Return Pinot's ``ExpressionTransformer`` with only these transforms."""
    configs = [{"columnName": each.column, "transformFunction": each.function} for each in transforms]
    config = parse_table_config(
        {
            "tableName": "transforms",
            "tableType": "OFFLINE",
            "segmentsConfig": {},
            "tenants": {},
            "tableIndexConfig": {},
            "metadata": {},
            "ingestionConfig": {"transformConfigs": configs},
        }
    )
    no_fields = java_class("org.apache.pinot.spi.data.Schema")()
    return java_class(_LOCAL + "recordtransformer.ExpressionTransformer")(config, no_fields)


def _distinct(columns: Iterable[Any], rows: int) -> _Distinct:
    """Find the rows that have the same values in all columns; without columns all rows are the same."""
    like = np.zeros(rows, dtype=np.int64)
    for column in columns:
        bits = column
        if pa.types.is_floating(column.type):  # zero and negative zero are different values
            bits = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
        encoded = bits.dictionary_encode(null_encoding="encode")
        both = like * len(encoded.dictionary) + encoded.indices.to_numpy()
        like = pa.array(both).dictionary_encode().indices.to_numpy().astype(np.int64)
    firsts = np.zeros(int(like.max()) + 1, dtype=np.int64)
    firsts[like[::-1]] = np.arange(rows - 1, -1, -1)  # the last assignment, of the first row, counts
    return _Distinct(firsts, like)
