"""Random histories of Iceberg tables: after each change, our source reads what Iceberg's own library reads.

A command is ``{"number": SEED}``; its answer has how often each change was made, the number of rows that were
compared, and the ``difference``, if there is one, with the changes that led to it.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from controller_client.common.folders import scratch_folder
from minion_tasks.sources.iceberg import IcebergSource
from tests.contract.lakehouse.iceberg_catalog import JavaCatalog
from tests.contract.lakehouse.iceberg_library import start_iceberg
from tests.contract.lakehouse.iceberg_table import JavaTable
from tests.contract.lakehouse.iceberg_values import Row
from tests.unit.minion_tasks.sources.lakehouse import Follower

_COLUMNS = {
    "k": "int",
    "city": "string",
    "day": "date",
    "amount": "decimal(9, 2)",
    "at": "timestamp",
    "weight": "double",
    "ratio": "float",
    "good": "boolean",
    "since": "timestamptz",
    "clock": "time",
    "code": "binary",
    "three": "fixed[3]",
    "key": "uuid",
    "many": "list<int>",
}
_KEYS = (
    "int",
    "long",
    "string",
    "date",
    "decimal(9, 2)",
    "timestamp",
    "timestamptz",
    "boolean",
    "uuid",
    "binary",
)
"""Types of columns that may be keys of equality deletes, or partition a table."""
# ORC does not tell times of the last second before 1970 from those of the first second after it.
_VALUES: Mapping[str, list[Any]] = {
    "int": [None, -1, 0, 1, 2, 3],
    "long": [None, -1, 0, 1, 2, 3, 2**40],
    "string": [None, "", "Oslo", "Bergen", "ü/%41 b"],
    "date": [None, date(1969, 12, 31), date(2026, 1, 1)],
    "decimal(9, 2)": [None, Decimal("0.10"), Decimal("1.50"), Decimal("-2.00")],
    "timestamp": [None, *map(datetime.fromisoformat, ("1969-12-31T23:59:58.999999", "2026-01-01T12:30"))],
    "double": [None, -0.5, 0.0, 2.0**70],
    "float": [None, -0.5, 2.0**70],
    "boolean": [None, False, True],
    "timestamptz": [
        None,
        datetime(1969, 12, 31, 23, 59, 58, 999999, UTC),
        datetime(2026, 1, 1, 12, 30, tzinfo=UTC),
    ],
    "time": [None, time(0, 0, 1), time(23, 59, 59, 999999)],
    "binary": [None, b"", b"\x00\xff"],
    "fixed[3]": [None, b"abc", b"\x00\x80\xff"],
    # None from 8 on: Iceberg compares UUIDs as signed numbers, and skips delete files that have the keys.
    "uuid": [None, UUID(int=0), UUID("479c3e09-677c-4bbd-a479-3f349cb785e7")],
    "list<int>": [None, [], [1], [3, 2]],
    "timestamp_ns": [None, -1, 1_767_270_600_123_456_789],
}
_NOT_IN_ORC = ("time", "fixed[3]", "uuid")
"""Types that are not read from ORC files."""
_CHANGES = (
    *("append", "append", "delete_equal", "delete_equal", "upsert", "upsert", "delete_positions"),
    *("delete_positions", "overwrite", "replace_partitions", "delete_file", "change_schema", "change_schema"),
    *("partition", "compact", "roll_back", "expire", "create_again"),
)


class History:
    """A table, what follows it, and what was done so far.

    Args:
        catalog: The catalog.
        folder: An empty folder for copies.
        number: Determines everything.
    """

    def __init__(self, catalog: JavaCatalog, folder: Path, number: int) -> None:
        self._catalog = catalog
        self._random = random.Random(number)
        self._name = f"t{number}"
        # All pairs in few histories.
        version, file_format = ("2", "3")[number % 2], ("parquet", "parquet", "orc")[number % 3]
        self._properties = {"format-version": version, "write.format.default": file_format}
        left_out = _NOT_IN_ORC if file_format == "orc" else ()
        since_3 = ["timestamp_ns"] if version == "3" and file_format != "orc" else []
        self._kinds = [*(kind for kind in _COLUMNS.values() if kind not in left_out), *since_3]
        self._follower = Follower(folder)
        self._new_names = (f"x{place}" for place in count())
        self._table = self._create()
        self._catalog_properties = self._random.choice(catalog.properties)
        self.changes: Counter[str] = Counter()
        self._log = [f"{self._properties}"]
        self.rows = 0

    def run(self) -> str | None:
        """Make some changes, and return in what the source differs from the library; None if in nothing."""
        for step in range(self._random.randint(3, 7)):
            change = "append" if step == 0 else self._random.choice(_CHANGES)
            try:
                if self._made(change):
                    self.changes[change] += 1
                difference = self._difference()
            except Exception:  # noqa: BLE001  # of Python or Java, ours or Iceberg's
                difference = traceback.format_exc()
            if difference is not None:
                return "\n".join([*self._log, difference])
        return None

    def drop(self) -> None:
        """Drop the table."""
        self._catalog.drop(self._name)

    def _create(self) -> JavaTable:
        self._deleted_by: set[str] = set()
        columns = {name: kind for name, kind in _COLUMNS.items() if kind in self._kinds}
        if "timestamp_ns" in self._kinds:
            columns["nanos"] = "timestamp_ns"
        return self._catalog.create(self._name, columns, self._properties)

    def _difference(self) -> str | None:
        columns = sorted(self._table.columns)
        expected = Counter(repr([row[column] for column in columns]) for row in self._table.read())
        self._follower.follow(IcebergSource(self._table.uri, self._catalog_properties))
        followed = self._follower.rows()
        rows = Counter(repr([_in_utc(row.get(column)) for column in columns]) for row in followed)
        self.rows += expected.total()
        if rows == expected:
            return None
        return f"missing: {dict(expected - rows)}\ntoo many: {dict(rows - expected)}"

    def _made(self, change: str) -> bool:
        """Make a change, unless there is nothing to change."""
        action = getattr(self, f"_{change}")()
        if action is None:
            return False
        what, *arguments = action
        self._log.append(f"{what.__name__} {arguments}")
        what(*arguments)
        return True

    def _append(self) -> Any:
        return self._table.append, *(self._rows(3, 12) for _ in range(self._random.randint(1, 2)))

    def _overwrite(self) -> Any:
        return self._table.overwrite, self._rows(1, 9)

    def _replace_partitions(self) -> Any:
        return self._table.replace_partitions, self._rows(1, 3)

    def _delete_file(self) -> Any:
        return (self._table.delete_file, self._random.randrange(99)) if self._has_rows else None

    def _delete_positions(self) -> Any:
        places = [(self._random.randrange(99), self._random.randrange(99)) for _ in range(4)]
        return (self._table.delete_positions, places) if self._has_rows else None

    def _delete_equal(self) -> Any:
        return self._equal(add=False)

    def _upsert(self) -> Any:
        return self._equal(add=True)

    def _equal(self, *, add: bool) -> Any:
        keys = [column for column, kind in self._table.columns.items() if kind in _KEYS]
        chosen = self._random.sample(keys, self._random.randint(1, min(3, len(keys))))

        def delete_equal(columns: list[str], rows: list[Row]) -> None:
            self._table.delete_equal(columns, rows, add=add)
            self._deleted_by.update(columns)

        return delete_equal, chosen, self._rows(1, 4)

    def _change_schema(self) -> Any:
        columns, partitioned = self._table.columns, self._table.partition_columns
        column = self._random.choice(list(columns))
        # Defaults need format 3, as times in nanoseconds do, and Iceberg does not read them with ORC files.
        with_default = ["add_with_default"] if "timestamp_ns" in self._kinds else []
        change = self._random.choice(["add", "drop", "rename", "promote", "first", *with_default])
        if change in {"add", "add_with_default"}:
            # Also a name that another column had, whose values it must not get.
            names = [name for name in _COLUMNS if name not in columns]
            name = self._random.choice(names) if names else next(self._new_names)
            if change == "add_with_default":
                return self._table.add_with_default, name, self._random.choice([0, 7, "", "Oslo"])
            return self._table.change_schema, "add", name, self._random.choice(self._kinds)
        if change == "rename":
            return self._rename, column, next(self._new_names)
        if change == "promote":
            numbers = [name for name, kind in columns.items() if kind == "int" and name not in partitioned]
            return (self._table.change_schema, "promote", numbers[0]) if numbers else None
        keys = [name for name, kind in columns.items() if kind in _KEYS]
        # Iceberg's own reader fails if a column is gone by which rows were deleted.
        if change == "drop" and (column in {*partitioned, *self._deleted_by} or keys == [column]):
            return None
        return self._table.change_schema, change, column

    def _rename(self, old: str, new: str) -> None:
        self._table.change_schema("rename", old, new)
        if old in self._deleted_by:
            self._deleted_by.remove(old)
            self._deleted_by.add(new)

    def _partition(self) -> Any:
        partitioned = self._table.partition_columns
        if partitioned:
            return (self._table.remove_partitions,)
        kinds = self._table.columns
        column = self._random.choice([column for column, kind in kinds.items() if kind in _KEYS])
        transforms = ["identity"] if kinds[column] == "boolean" else ["identity", "bucket"]
        return self._table.partition_by, column, self._random.choice(transforms)

    def _compact(self) -> Any:
        def compact(keep: bool) -> None:
            self._table.compact(keep_sequence_number=keep)

        return (compact, self._random.random() < 0.5) if self._has_rows else None

    def _roll_back(self) -> Any:
        return self._table.roll_back, self._random.choice(self._table.snapshots)

    def _expire(self) -> Any:
        return (self._table.expire,)

    def _create_again(self) -> Any:
        def create_again() -> None:
            self._catalog.drop(self._name)
            self._table = self._create()
            self._table.append(self._rows(1, 5))

        return (create_again,)

    @property
    def _has_rows(self) -> bool:
        return bool(self._table.read())

    def _rows(self, least: int, most: int) -> list[Row]:
        columns = self._table.columns.items()
        return [
            {column: self._random.choice(_VALUES[kind]) for column, kind in columns}
            for _ in range(self._random.randint(least, most))
        ]


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def main() -> None:
    # Other output to stdout, such as Java's, goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    start_iceberg()
    with scratch_folder("iceberg-") as home, closing(JavaCatalog(home)) as catalog:
        while line := sys.stdin.readline():
            number = json.loads(line)["number"]
            copies = home / f"copies-{number}"
            copies.mkdir()
            history = History(catalog, copies, number)
            difference = history.run()
            history.drop()
            answer = {"changes": history.changes, "rows": history.rows, "difference": difference}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
