"""The Java side of a build by columns: Pinot's driver takes them in place of rows.

``ColumnarSource.java`` stands in for the rows, the statistics and the reader of Pinot's driver, which makes
dictionaries and index creators itself; whole columns are then put through these. So every byte is Pinot's.
Where a version of Pinot keeps its creators is known to ``DriverCreators.java`` alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jpype

from controller_client.errors import SetupError
from jvm_bridge.builder.column_file import ColumnFileWriter
from jvm_bridge.builder.driver import run_driver
from jvm_bridge.builder.pinot_classes import is_pinot_1, java_class
from jvm_bridge.builder.planning import ColumnPlan, Unsuitable
from jvm_bridge.builder.transformers import late_transformers, pipeline_for
from jvm_bridge.java import CompileError, JavaSources, load_java_apart

__all__ = ["build_columns"]

_PACKAGE = "io.pinotplugins.columns"
_lock = threading.Lock()


@dataclass(frozen=True)
class _Classes:
    file: Any
    source: Any
    creators: Any
    transformers: Any


@cache
def _load() -> _Classes | Unsuitable:
    version = "v1" if is_pinot_1() else "v0_11"
    sources = JavaSources.of("jvm_bridge.builder", _PACKAGE, f"{_PACKAGE}.{version}")
    try:
        classes = load_java_apart(sources)
    except (CompileError, SetupError, jpype.JException) as error:
        return Unsuitable(f"columns cannot be handed to this Pinot: {error}")
    return _Classes(
        file=classes[f"{_PACKAGE}.ColumnFile"],
        source=classes[f"{_PACKAGE}.ColumnarSource"],
        creators=classes[f"{_PACKAGE}.{version}.DriverCreators"],
        transformers=classes[f"{_PACKAGE}.{version}.Transformers"],
    )


def _classes() -> _Classes:
    with _lock:  # subtasks of a minion are threads
        classes = _load()
    if isinstance(classes, Unsuitable):
        raise classes
    return classes


def build_columns(config: Any, plans: Sequence[ColumnPlan], written: ColumnFileWriter, path: Path) -> Path:
    """Build a segment of columns in a file; Java exceptions pass through.

    Args:
        config: Pinot's ``SegmentGeneratorConfig``.
        plans: The columns, in the order in which they were written.
        written: What wrote them.
        path: The file.

    Returns:
        The segment's folder.

    Raises:
        Unsuitable: Columns cannot be handed to this Pinot, or this Java has no compiler.
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
                jpype.JArray(jpype.JLong)(written.places(number)),
            )
            if plan.is_text:
                source.addTexts(*described, _transformer(classes, config, plan))
            else:
                source.addNumbers(*described)
        return run_driver(
            config,
            source,
            pipeline_for(config.getTableConfig(), schema, []),
            before_build=lambda driver: source.setCreators(classes.creators(driver)),
        )


def _transformer(classes: _Classes, config: Any, plan: ColumnPlan) -> Any | None:
    if not plan.is_late:
        return None
    of_column = late_transformers(config.getTableConfig(), config.getSchema(), [plan.field.name])
    return classes.transformers(java_class("java.util.ArrayList")(of_column))
