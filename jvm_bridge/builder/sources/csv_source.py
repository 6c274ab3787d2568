"""Reads CSV in the JVM, block by block, if commons-csv, which Pinot uses, would read the same.

``CsvLines.java`` parses bytes directly into arrays, which become Arrow's buffers: there are no objects for
single values on either side. It rejects malformed input (text after a closing quote, rows with more or fewer
values), which is then read row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from controller_client.common.text import visible
from controller_client.errors import DataError
from jvm_bridge.builder.csv_plan import CsvPlan, plan_csv
from jvm_bridge.builder.model import HEADER_PROPERTY, SourceFile
from jvm_bridge.builder.planning import Field, TableRequirements, Unsuitable, plan_column
from jvm_bridge.builder.sources.csv_header import read_header
from jvm_bridge.builder.sources.java_lines import JAVA_TYPES, line_reader, read_batches, read_lines
from jvm_bridge.builder.sources.source import Batch, Source

__all__ = ["check_widths", "open_csv"]

_SHOWN_CHARACTERS = 100
_NUMBER_TYPES = {"INT": pa.int32(), "LONG": pa.int64(), "DOUBLE": pa.float64()}
"""The types of numbers that are parsed at once; other values are texts, which are converted later."""


def open_csv(path: Path, table: TableRequirements, plan: CsvPlan) -> Source:
    """Plan a CSV file.

    Raises:
        Unsuitable: Only commons-csv can read it; also while batches are read.
    """
    names = _names(path, plan)
    if plan.no_edge_spaces and any(name != name.strip() for name in names):
        raise Unsuitable("a column name has leading or trailing white space")
    types = {field.name: _type(field, table) if field.name in names else pa.null() for field in table.fields}
    plans = tuple(plan_column(field, types[field.name]) for field in table.fields)
    types = {name: kind for name, kind in types.items() if name in names}
    types |= {name: pa.string() for name in sorted(table.arguments.intersection(names))}
    multi_value = frozenset(field.name for field in table.fields if not field.single_value)
    return Source(plans, _batches(path, plan, names, types, multi_value, table))


def _names(path: Path, plan: CsvPlan) -> Sequence[str]:
    return plan.header if plan.header is not None else read_header(path, plan.delimiter).names


def _type(field: Field, table: TableRequirements) -> pa.DataType:
    # A row that the filter drops may have a text that is not a number.
    is_text = not field.single_value or field.name in table.arguments or table.filter_function is not None
    return pa.string() if is_text else _NUMBER_TYPES.get(field.data_type, pa.string())


def _lines(plan: CsvPlan, names: Sequence[str]) -> Any:
    has_header, may_have_blanks = plan.header is None, not plan.no_edge_spaces
    return line_reader("CsvLines")(len(names), plan.delimiter, has_header, may_have_blanks)


def _batches(
    path: Path,
    plan: CsvPlan,
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    multi_value: frozenset[str],
    table: TableRequirements,
) -> Iterator[Batch]:
    lines = _lines(plan, names)
    values = {name: lines.select(names.index(name), name, JAVA_TYPES[kind]) for name, kind in types.items()}
    texts = [name for name, kind in types.items() if kind == pa.string()]
    for columns, rows in read_batches(path, lines, values, types):
        for name in texts if plan.no_edge_spaces else ():
            _refuse_edge_spaces(name, columns[name])
        raw = {name: columns[name] for name in sorted(table.arguments.intersection(names))}
        columns = {field.name: columns[field.name] for field in table.fields if field.name in columns}
        if plan.multi_value_delimiter is not None:
            for name, column in raw.items():
                _split(name, column, plan.multi_value_delimiter, lists=False)
            for name in columns.keys() & texts:
                columns[name] = _split(
                    name, columns[name], plan.multi_value_delimiter, lists=name in multi_value
                )
        yield Batch(columns, rows, raw)


def check_widths(file: SourceFile) -> None:
    """Reject a row with more values than the header has names, as Pinot's reader drops the extra values.

    Usually an unquoted value contains a delimiter, so that the values after it are in the wrong columns.
    Extra values that are empty do no harm. Files that only Pinot's reader can parse are not checked.

    Raises:
        DataError: There is such a row.
    """
    try:
        plan = plan_csv(file.reader_config)
        names = _names(file.path, plan)
        lines = _lines(plan, names)
        row = next(read_lines(file.path, lines, lines.nextWide), None)
    except Unsuitable:
        return
    if row is not None:
        header = "the header" if plan.header is None else HEADER_PROPERTY
        raise DataError(
            f"{file.name}, row {row.number}: {row.values} values, but {header} has"
            f" {len(names)} names: {visible(str(row.text))[:_SHOWN_CHARACTERS]!r}",
            expected="no more values than names",
            where=f"{file.where}, row {row.number}",
            remedy=f"put values that contain {plan.delimiter!r} in quotes",
        )


def _refuse_edge_spaces(name: str, column: Any) -> None:
    if not pc.all(pc.equal(pc.utf8_trim_whitespace(column), column)).as_py():
        raise Unsuitable(
            f"column {name} has leading or trailing white space, which Pinot drops with any reader config"
        )


def _split(name: str, column: Any, delimiter: str, *, lists: bool) -> Any:
    """Split values as Pinot does: a value without two parts is kept unchanged, including delimiters."""
    escaped = f"[{delimiter}]" if delimiter != "^" else r"\^"
    if not lists:
        if pc.any(pc.match_substring(column, delimiter)).as_py() and _has_parts(column, delimiter, escaped):
            raise Unsuitable(f"column {name} is used as single-value, but has values with {delimiter!r}")
        return column
    parts = pc.split_pattern(column, delimiter)
    if pc.any(pc.equal(pc.list_flatten(parts), "")).as_py():
        raise Unsuitable(f"column {name} has empty parts between {delimiter!r}")
    return parts


def _has_parts(column: Any, delimiter: str, escaped: str) -> bool:
    other = f"[^{delimiter}]" if delimiter != "^" else r"[^\^]"
    return bool(pc.any(pc.match_substring_regex(column, f"{other}{escaped}+{other}")).as_py())
