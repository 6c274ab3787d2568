"""Queries servers about a table and compares the results with its rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from random import Random
from typing import Any

from controller_client.broker.client import BrokerClient, QueryResult
from tests.contract.random_tables import RandomTable
from tests.integration.jvm_bridge.served.questions import Filter, filters
from tests.integration.jvm_bridge.served.stored_rows import StoredColumn, as_text, shown

__all__ = ["Checks", "ServedTable"]

_MAX_ROWS = 100_000
_SUM_ERROR = 1e-9  # of the sum of all magnitudes: a star-tree adds in another order
_MANY = 4
_NUMBERS = ("INT", "LONG", "FLOAT", "DOUBLE")


@dataclass(frozen=True)
class ServedTable:
    """A table on the cluster, the number of its random table, and its rows as servers store them."""

    name: str
    number: int
    random_table: RandomTable
    columns: Sequence[StoredColumn]

    @cached_property
    def filters(self) -> Sequence[Filter]:
        """The filters to check."""
        random = Random(self.number)
        return [each for column in self.columns for each in filters(self.random_table.config, column, random)]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of index that the filters use."""
        trees = {"star-tree"} if self.star_trees else ()
        return frozenset().union(trees, *(each.kinds for each in self.filters))

    @property
    def star_trees(self) -> Sequence[Mapping[str, Any]]:
        """Configs of its star-trees."""
        found: Sequence[Mapping[str, Any]] = self.random_table.config["tableIndexConfig"].get(
            "starTreeIndexConfigs", ()
        )
        return found

    @property
    def selected(self) -> list[StoredColumn]:
        """The columns that queries can select: Pinot does not support selecting lists of BYTES."""
        return [column for column in self.columns if column.is_single or column.data_type != "BYTES"]

    def texts(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the rows with these numbers as query results show them, in order."""
        by_column = [
            [
                ",".join(as_text(column.data_type, each) for each in column.all_of(column.values[row]))
                for row in rows
            ]
            for column in self.selected
        ]
        return sorted(zip(*by_column, strict=True))


class Checks:
    """The checks of one table.

    Args:
        broker: The broker to query.
        table: The table.
        zone: The time zone of the servers; None: this process'.
    """

    def __init__(self, broker: BrokerClient, table: ServedTable, zone: tzinfo | None) -> None:
        self._broker = broker
        self._table = table
        self._zone = zone
        self._rows = range(table.random_table.rows.num_rows)

    def _ask(self, select: str, rest: str = "") -> QueryResult:
        return self._broker.query(f"SELECT {select} FROM {self._table.name} {rest} LIMIT {_MAX_ROWS}")

    def rows(self, condition: Filter | None = None) -> None:
        """Compare all rows, or those that meet a condition, in all columns that can be selected."""
        columns = self._table.selected
        where = f"WHERE {condition.condition}" if condition else ""
        result = self._ask(", ".join(f'"{column.name}"' for column in columns) or "COUNT(*)", where)
        found = sorted(
            tuple(shown(column, value, self._zone) for column, value in zip(columns, row, strict=True))
            if columns
            else (repr(row[0]),)
            for row in result.rows
        )
        rows = condition.rows if condition else self._rows
        expected = self._table.texts(rows) if columns else [(repr(len(rows)),)]
        config = self._table.random_table.config
        assert found == expected, f"table {self._table.number} {where}: {found} is not {expected}: {config}"

    def statistics(self) -> None:
        """Compare results that come from dictionaries and metadata alone."""
        assert self._ask("COUNT(*)").scalar() == len(self._rows)
        for column in self._table.columns:
            values = list(column.flat())
            if not column.is_single or column.data_type not in _NUMBERS or any(map(math.isnan, values)):
                continue
            name = f'"{column.name}"'
            ((least, most, distinct),) = self._ask(f"MIN({name}), MAX({name}), DISTINCTCOUNT({name})").rows
            expected = (float(min(values)), float(max(values)), len(set(map(repr, values))))
            assert (least, most, distinct) == expected, f"table {self._table.number}, column {column.name}"

    def star_tree(self) -> None:
        """Compare groups that come from a star-tree, if there is one."""
        by_name = {column.name: column for column in self._table.columns}
        for tree in self._table.star_trees:
            metrics = [by_name[pair.removeprefix("SUM__")] for pair in tree["functionColumnPairs"][1:]]
            for name in tree["dimensionsSplitOrder"]:
                self._groups(by_name[name], metrics)

    def _groups(self, dimension: StoredColumn, metrics: Sequence[StoredColumn]) -> None:
        rows: dict[Any, list[int]] = defaultdict(list)
        for row, value in enumerate(dimension.values):
            rows[value].append(row)
        sums = "".join(f', SUM("{metric.name}")' for metric in metrics)
        name = f'"{dimension.name}"'
        result = self._ask(f"{name}, COUNT(*){sums}", f"GROUP BY {name}")
        assert {row[0]: row[1] for row in result.rows} == {value: len(each) for value, each in rows.items()}
        if _MANY * len(rows) <= len(self._rows):  # the tree has about a document for each group
            assert result.stats.docs_scanned < len(self._rows), (
                f"table {self._table.number}: no use of the tree"
            )
        for value, _, *found in result.rows:
            for metric, answer in zip(metrics, found, strict=True):
                summed = [float(metric.values[row]) for row in rows[value]]
                error = _SUM_ERROR * sum(map(abs, summed))
                is_same = _is_same(answer, sum(summed), error)
                assert is_same, f"table {self._table.number}, {name} = {value!r}, sum of {metric.name}"


def _is_same(found: float, expected: float, error: float) -> bool:
    if math.isfinite(expected):
        return abs(found - expected) <= error
    return found == expected or (math.isnan(found) and math.isnan(expected))
