"""Random files: each value is stored as the file means it, or the file is refused with row and column.

What a value means is in :mod:`tests.contract.meanings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.meanings import Column, fits, is_stored_as
from tests.contract.random_files import FORMATS, Kind, RandomColumn, arrow_table, write_file
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import MULTI_VALUE_TYPES, TYPES, examples, schema_of, table_config

pytestmark = pytest.mark.jvm

_FILES = examples(100, 400)
_MAX_ROWS = 5
_MAX_COLUMNS = 5
_FITTING = 0.85
"""The share of columns without values that do not fit: most files have none of the others."""
_CONFIG = table_config()


def _column(random: Random) -> Column:
    if random.random() < 0.25:
        return Column(random.choice(MULTI_VALUE_TYPES), many=True)
    return Column(random.choice(TYPES))


def _values(random: Random, kind: Kind, column: Column, count: int) -> list[Any]:
    """Return random values, of which most fit, if the kind has any."""
    values: list[Any] = []
    fitting = random.random() < _FITTING
    while len(values) < count:
        tries = (kind.make(random) if random.random() < 0.9 else None for _ in range(30))
        values.append(next((each for each in tries if not fitting or fits(each, column)), None))
    return values


def _table(random: Random, kinds: Sequence[Kind]) -> tuple[list[RandomColumn], list[Column]]:
    count = random.randint(1, _MAX_ROWS)
    source: list[RandomColumn] = []
    columns: list[Column] = []
    for number in range(random.randint(1, _MAX_COLUMNS)):
        kind = random.choice(kinds)
        column = _column(random)
        columns.append(column)
        source.append(RandomColumn(f"c{number}", kind, _values(random, kind, column, count)))
    return source, columns


def _schema(columns: Sequence[Column]) -> dict[str, Any]:
    names = {f"c{number}": each for number, each in enumerate(columns)}
    single = {name: each.data_type for name, each in names.items() if not each.many}
    # Pinot 0.11 takes BIG_DECIMAL only as a metric.
    metrics = {name: kind for name, kind in single.items() if kind == "BIG_DECIMAL"}
    return schema_of(
        {name: kind for name, kind in single.items() if name not in metrics},
        multi_values={name: each.data_type for name, each in names.items() if each.many},
        metrics=metrics,
    )


def _faults(
    reply: dict[str, Any], source: Sequence[RandomColumn], columns: Sequence[Column], *, named: bool
) -> list[str]:
    """Return what is wrong with an outcome."""
    unfit = [
        (row + 1, each.name, f"{each.kind.name} {value!r}", column)
        for each, column in zip(source, columns, strict=True)
        for row, value in enumerate(each.values)
        if not fits(value, column)
    ]
    if "error" in reply:
        if not unfit:
            return [f"refused: {reply['message'][:300]}"]
        places = [f"row {row}, field {name}" for row, name, *_ in unfit]
        if reply["error"] == "DataError" and (not named or any(each in reply["message"] for each in places)):
            return []
        return [f"the refusal names none of {places}: {reply['error']}: {reply['message'][:300]}"]
    if unfit:
        return [f"accepted, but these do not fit: {unfit}"]
    return [
        f"{each.kind.name} {value!r} in {column} became {reply['read'][row].get(each.name)!r}"
        for each, column in zip(source, columns, strict=True)
        for row, value in enumerate(each.values)
        if not is_stored_as(value, column, reply["read"][row].get(each.name))
    ]


def _outcomes(
    build: Callable[[list[RandomColumn], dict[str, Any]], dict[str, Any]],
    kinds: Sequence[Kind],
    random: Random,
    *,
    named: bool,
) -> None:
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(_FILES):
        source, columns = _table(random, kinds)
        reply = build(source, _schema(columns))
        outcomes["refused" if "error" in reply else "stored"] += 1
        faults += [f"file {number}: {fault}" for fault in _faults(reply, source, columns, named=named)]
    assert not faults, f"{len(faults)} of {_FILES}: " + "\n".join(faults[:40])
    assert min(outcomes["stored"], outcomes["refused"]) >= _FILES // 10, outcomes


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("reader", ["auto", "pinot"])
def test_values_of_files(
    child: SegmentChild, tmp_path: Path, file_format: str, reader: str, pytestconfig: pytest.Config
) -> None:
    random = Random(f"{pytestconfig.option.seed} {file_format} {reader}")
    path = tmp_path / f"random.{file_format}"

    def build(source: list[RandomColumn], schema: dict[str, Any]) -> dict[str, Any]:
        write_file(path, source)
        return child.build(_CONFIG, schema, path, reader, read_back=True)

    _outcomes(build, FORMATS[file_format], random, named=True)


def test_values_of_arrow_tables(child: SegmentChild, pytestconfig: pytest.Config) -> None:
    random = Random(f"{pytestconfig.option.seed} arrow")
    # Whole columns take no decimals with a scale: there is no file to read again by row.
    kinds = [each for each in FORMATS["parquet"] if not each.name.startswith("decimal") or ",0" in each.name]

    def build(source: list[RandomColumn], schema: dict[str, Any]) -> dict[str, Any]:
        return child.build(_CONFIG, schema, arrow_table(source), "auto", read_back=True)

    _outcomes(build, kinds, random, named=False)
