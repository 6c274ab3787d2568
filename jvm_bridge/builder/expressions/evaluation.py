"""Evaluates transforms and filters of a table config over whole columns, with Pinot's own classes.

Java gets the columns that functions read, with the values that Pinot's reader would give them, and returns
those that they fill, in their stored form. Rows with the same arguments are evaluated once, which makes this
fast. After any Java exception Pinot's reader reads the file, and its error is authoritative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from jvm_bridge.builder.columnar.stored import store
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.expressions.evaluated_group import (
    EvaluatedGroup,
    Mask,
    arrow_type,
    evaluator,
    java_classes,
)
from jvm_bridge.builder.expressions.groups import groups_of
from jvm_bridge.builder.expressions.java_columns import argument_of
from jvm_bridge.builder.pinot_classes import is_pinot_1
from jvm_bridge.builder.planning import ColumnPlan, TableRequirements, Unsuitable, plan_column
from jvm_bridge.builder.sources.source import Batch, Source
from jvm_bridge.builder.transformers import conversion
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = ["Expressions", "with_arguments"]


def with_arguments(plan: TableRequirements) -> TableRequirements:
    """Return the plan with the columns that its transforms and its filter read.

    Raises:
        Unsuitable: Pinot rejects one of the functions.
    """
    columns = [transform.column for transform in plan.transforms]
    names = [name for each in _arguments(plan).values() for name in each]
    return replace(plan, arguments=frozenset([*names, *columns]))


def _arguments(plan: TableRequirements) -> dict[str, list[str]]:
    functions = [transform.function for transform in plan.transforms]
    if plan.filter_function is not None:
        functions.append(plan.filter_function)
    try:
        return {each: [str(name) for name in evaluator(each).getArguments()] for each in functions}
    except JAVA_ERRORS as error:
        raise Unsuitable(f"Pinot rejects a transform or filter: {root_causes(error)}") from error


class Expressions:
    """A table's transforms and filter; used by one thread.

    Args:
        table: The table.

    Raises:
        Unsuitable: They cannot be evaluated over columns.
    """

    def __init__(self, table: PinotTable) -> None:
        self._table = table
        self._plan = table.plan()
        self._groups: Sequence[EvaluatedGroup] = ()
        if self._plan.has_expressions:
            groups = groups_of(self._plan.transforms, self._plan.filter_function, _arguments(self._plan))
            self._groups = [EvaluatedGroup(table, self._plan, group) for group in groups]

    def applied(self, source: Source) -> Source:
        """Return a source of the remaining rows, with the computed columns."""
        if not self._groups:
            return source
        derived = [plan_column(field, arrow_type(field)) for field in self._plan.derived]
        return Source((*source.plans, *derived), self._batches(source))

    def _batches(self, source: Source) -> Iterator[Batch]:
        for batch in source.batches:
            if not batch.rows:
                continue
            columns, dropped = dict(batch.columns), None
            for group in self._groups:
                try:
                    fields, of_group = group.evaluate(batch, has_any_width=source.has_any_width)
                except (*JAVA_ERRORS, pa.ArrowInvalid) as error:
                    why = root_causes(error) if isinstance(error, JAVA_ERRORS) else str(error)
                    raise Unsuitable(f"{group.description}: {why}") from error
                columns |= fields
                dropped = dropped if of_group is None else of_group
            if dropped is None or not dropped.any():
                yield Batch(columns, batch.rows)
                continue
            if not is_pinot_1():
                self._convert_dropped(source.plans, batch, dropped)
            kept = pa.array(~dropped)
            left = {name: column.filter(kept) for name, column in columns.items()}
            yield Batch(left, int(np.count_nonzero(~dropped)))

    def _convert_dropped(self, plans: Iterable[ColumnPlan], batch: Batch, dropped: Mask) -> None:
        """Convert rows as Pinot 0.11 does before it drops them: there an invalid row is an error."""
        mask = pa.array(dropped)
        for plan in plans:
            column = batch.columns.get(plan.field.name)
            if column is not None:
                default = b"" if plan.is_text else 0
                stored = store(plan, column.filter(mask), int(np.count_nonzero(dropped)), default)
                if plan.is_late and not np.all(stored.nulls is not None and stored.nulls):
                    self._convert_late(plan, column.filter(mask).drop_null())

    def _convert_late(self, plan: ColumnPlan, texts: Any) -> None:
        name = plan.field.name
        table = self._table
        by = conversion(java_classes(), table.config, table.schema, [name], table.zone, computed=False)
        distinct = texts.cast(pa.string()).unique()
        try:
            self._groups[0].java.convert(*by, name, argument_of(java_classes(), distinct), len(distinct))
        except JAVA_ERRORS as error:
            raise Unsuitable(f"column {name} of a dropped row: {root_causes(error)}") from error
