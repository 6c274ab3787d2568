"""The Java side of a build from columns: Pinot's driver gets them instead of rows.

``ColumnarSource.java`` replaces the rows, the statistics and the reader of Pinot's driver. The driver creates
dictionaries and index creators itself, and whole columns are then passed through these. So Pinot writes every
byte. Only ``DriverCreators.java`` depends on where a version of Pinot keeps its creators.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

from jvm_bridge.builder.columnar.column_file import ColumnFileWriter
from jvm_bridge.builder.driver import run_driver
from jvm_bridge.builder.java_classes import classes_of
from jvm_bridge.builder.pinot_classes import is_pinot_1, java_class
from jvm_bridge.builder.planning import ColumnPlan
from jvm_bridge.builder.transformers import late_transformers, pipeline_for

__all__ = ["build_columns"]

_PACKAGE = "io.pinotplugins.columns"


@dataclass(frozen=True)
class _Classes:
    file: Any
    source: Any
    creators: Any
    transformers: Any


def _classes() -> _Classes:
    version = "v1" if is_pinot_1() else "v0_11"
    classes = classes_of("columns cannot be passed to", _PACKAGE, f"{_PACKAGE}.{version}")
    return _Classes(
        file=classes[f"{_PACKAGE}.ColumnFile"],
        source=classes[f"{_PACKAGE}.ColumnarSource"],
        creators=classes[f"{_PACKAGE}.{version}.DriverCreators"],
        transformers=classes[f"{_PACKAGE}.{version}.Transformers"],
    )


def build_columns(
    config: Any, plans: Sequence[ColumnPlan], written: ColumnFileWriter, path: Path, zone: str
) -> Path:
    """Build a segment from columns in a file; Java exceptions are not caught.

    Args:
        config: Pinot's ``SegmentGeneratorConfig``.
        plans: The columns, in the order in which they were written.
        written: Their writer.
        path: The file.
        zone: Time zone of texts in columns of type TIMESTAMP.

    Returns:
        The segment's folder.

    Raises:
        Unsuitable: Columns cannot be passed to this Pinot, or this Java has no compiler.
    """
    classes = _classes()
    schema = config.getSchema()
    with closing(classes.file(str(path))) as file:
        source = classes.source(file, written.rows)
        for number, plan in enumerate(plans):
            spec = schema.getFieldSpecFor(plan.field.name)
            described = (
                plan.field.name,
                spec.getDataType().getStoredType(),
                spec.isSingleValueField(),
                jpype.JArray(jpype.JLong)(written.blocks(number)),
            )
            if plan.is_text:
                source.addTexts(*described, _transformer(classes, config, plan, zone))
            else:
                source.addNumbers(*described)
        return run_driver(
            config,
            source,
            pipeline_for(config),
            before_build=lambda driver: source.setCreators(classes.creators(driver)),
        )


def _transformer(classes: _Classes, config: Any, plan: ColumnPlan, zone: str) -> Any | None:
    if not plan.is_late:
        return None
    of_column = late_transformers(config.getTableConfig(), config.getSchema(), [plan.field.name], zone)
    return classes.transformers(java_class("java.util.ArrayList")(of_column))
