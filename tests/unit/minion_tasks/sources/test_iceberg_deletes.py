"""Equality deletes of Iceberg tables: which rows they delete, which units are read again, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import FileFormat
from pyiceberg.types import LongType

from controller_client.errors import SourceError
from minion_tasks.sources import iceberg_reader
from minion_tasks.sources.base import Columns
from minion_tasks.sources.iceberg import IcebergSource
from minion_tasks.sources.iceberg_deletes import plan_units
from minion_tasks.sources.iceberg_reader import UnitReader
from tests.unit.minion_tasks.sources.equality_deletes import BOUNDS, FORMAT, KEYS, ROWS, commit_deletes
from tests.unit.minion_tasks.sources.lakehouse import Follower

SCHEMA = pa.schema(
    [
        ("k", pa.int32()),
        ("city", pa.string()),
        ("amount", pa.decimal128(9, 2)),
        ("weight", pa.float64()),
        ("place", pa.struct([("x", pa.int32())])),
    ]
)
Row = tuple[int | None, str | None]


class Orders:
    """An Iceberg table with keys of several types, and what follows it."""

    def __init__(self, folder: Path, columns: Columns = None) -> None:
        properties = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
        catalog = SqlCatalog("prod", **properties)
        catalog.create_namespace("sales")
        self.table = catalog.create_table("sales.orders", SCHEMA)
        self._properties = {"type": "sql", **properties}
        (folder / "copies").mkdir()
        self._follower = Follower(folder / "copies", columns)

    def rows(self, rows: Sequence[Row]) -> pa.Table:
        """Return rows by the table's present columns, whatever they are called by now."""
        fields = self.table.schema().as_arrow()
        values = {
            name: list(column) for name, column in zip(("k", "city"), zip(*rows, strict=True), strict=True)
        }
        arrays = [pa.array(values.get(field.name, [None] * len(rows)), field.type) for field in fields]
        return pa.table(arrays, schema=fields)

    def append(self, *rows: Row) -> None:
        self.table.append(self.rows(rows))

    def delete(
        self, keys: Sequence[Row], columns: Sequence[str], fields: dict[int, Any] | None = None
    ) -> None:
        commit_deletes(self.table, self.rows(keys), columns, fields=fields)

    def upsert(self, *rows: Row) -> None:
        """Delete the rows with the keys of new ones, and add these, in one commit."""
        commit_deletes(self.table, self.rows(rows), ["k"], self.rows(rows))

    def follow(self, *columns: str) -> Counter[tuple[Any, ...]]:
        """Return the rows that the follower has now."""
        self._follower.follow(IcebergSource("iceberg://prod/sales.orders", self._properties))
        fields = [SCHEMA.field(name) for name in columns or ("k", "city")]
        table = self._follower.table(pa.schema(fields).empty_table())
        return Counter(tuple(row.values()) for row in table.to_pylist())

    @property
    def reads(self) -> int:
        """How many units were read."""
        return self._follower.reads


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    return Orders(tmp_path)


def test_an_upsert_deletes_what_was_committed_before_it(orders: Orders) -> None:
    orders.append((1, "Oslo"), (2, "Oslo"), (None, "Oslo"))
    orders.upsert((2, "Bergen"), (None, "Bergen"))
    assert orders.follow() == Counter([(1, "Oslo"), (2, "Bergen"), (None, "Bergen")])
    orders.upsert((2, "Voss"))
    assert orders.follow() == Counter([(1, "Oslo"), (2, "Voss"), (None, "Bergen")])


@pytest.mark.parametrize("keys", [3, 150_000])
def test_a_file_of_several_batches(orders: Orders, keys: int) -> None:
    rows: list[Row] = [(number, "Oslo") for number in range(300_000)]
    orders.append(*rows)
    deleted = rows[:: 300_000 // keys]
    orders.delete(deleted, ["k"])
    assert orders.follow("k", "city") == Counter(rows) - Counter(deleted)


def test_delete_files_that_are_not_kept_are_read_again(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_reader, "_KEPT_BYTES", 0)
    orders.append((1, "Oslo"), (9, "Oslo"))
    orders.append((11, "Oslo"), (19, "Oslo"))
    orders.delete([(1, None), (11, None)], ["k"])
    orders.delete([(19, None)], ["k"])
    table, snapshot = orders.table, orders.table.current_snapshot()
    assert snapshot is not None
    units = plan_units("orders", table, snapshot, table.schema())
    reader, rows = UnitReader(table), 0
    # The second unit has the delete file of the first one, and one more.
    for unit in sorted(units, key=lambda unit: len(unit.equality_deletes)):
        rows += sum(map(len, reader.batches(unit, table.schema())))
    assert rows == 1


def test_a_unit_is_read_again_only_if_its_bounds_may_have_the_keys(orders: Orders) -> None:
    orders.append((1, "Oslo"), (9, "Oslo"))
    orders.append((11, "Oslo"), (19, "Oslo"))
    orders.follow()
    reads = orders.reads
    orders.delete([(5, None)], ["k"])
    orders.follow()
    assert orders.reads - reads == 1
    # A delete file without bounds may have any key.
    orders.delete([(19, None)], ["k"], {BOUNDS: None})
    assert orders.follow() == Counter([(1, "Oslo"), (9, "Oslo"), (11, "Oslo")])
    assert orders.reads - reads == 3


def test_bounds_leave_nulls_out(orders: Orders) -> None:
    orders.append((None, "Oslo"), (9, "Oslo"))
    orders.delete([(None, None), (100, None)], ["k"])
    assert orders.follow() == Counter([(9, "Oslo")])


def test_keys_of_several_columns_match_as_a_whole(orders: Orders) -> None:
    orders.append((1, "Oslo"), (1, None), (2, "Oslo"), (2, None), (None, None))
    orders.delete([(1, "Oslo"), (2, None), (None, None)], ["city", "k"])
    assert orders.follow() == Counter([(1, None), (2, "Oslo")])


def test_a_delete_file_of_a_partition_deletes_nothing_elsewhere(orders: Orders) -> None:
    orders.append((1, "Voss"))
    with orders.table.update_spec() as change:
        change.add_identity("city")
    orders.append((1, "Oslo"), (1, "Bergen"))
    orders.delete([(1, "Oslo")], ["k"])
    assert orders.follow() == Counter([(1, "Voss"), (1, "Bergen")])


def test_a_delete_file_without_a_partition_deletes_in_all(orders: Orders) -> None:
    with orders.table.update_spec() as change:
        change.add_identity("city")
    orders.append((1, "Oslo"), (2, "Oslo"), (1, "Bergen"))
    with orders.table.update_spec() as change:
        change.remove_field("city")
    orders.delete([(1, None)], ["k"])
    assert orders.follow() == Counter([(2, "Oslo")])


def test_keys_are_field_ids(orders: Orders) -> None:
    orders.append((1, "Oslo"), (2, "Oslo"))
    orders.delete([(1, None)], ["k"])
    with orders.table.update_schema() as change:
        change.update_column("k", LongType())
    orders.append((2**40, "Oslo"), (3, "Oslo"))
    orders.delete([(2**40, None)], ["k"])
    # A column that is dropped stays a key, whatever has its name now.
    with orders.table.update_schema() as change:
        change.delete_column("k")
    with orders.table.update_schema() as change:
        change.add_column("k", LongType())
    assert orders.follow("city") == Counter({("Oslo",): 2})


def test_a_key_may_be_a_column_that_the_table_does_not_read(tmp_path: Path) -> None:
    orders = Orders(tmp_path, frozenset({"city"}))
    orders.append((1, "Oslo"), (2, "Bergen"))
    orders.delete([(1, None)], ["k"])
    assert orders.follow("city") == Counter([("Bergen",)])


@pytest.mark.parametrize(
    ("columns", "fields", "what"),
    [
        (["k"], {FORMAT: FileFormat.AVRO}, "equality deletes in the format AVRO"),
        (["weight"], {}, "equality deletes of the column weight, double"),
        (["place"], {}, "equality deletes of the column place, struct"),
        (["place.x"], {}, "equality deletes of a nested column or of none"),
        (["k"], {KEYS: []}, "equality deletes of a nested column or of none"),
        (["k"], {ROWS: 20_000_001}, "equality deletes of more than 20,000,000 keys for one data file"),
    ],
)
def test_what_cannot_be_applied_is_refused_by_name(
    orders: Orders, columns: Sequence[str], fields: dict[int, Any], what: str
) -> None:
    orders.append((1, "Oslo"))
    orders.delete([(1, "Oslo")], columns, fields)
    with pytest.raises(
        SourceError,
        match=f"the Iceberg table iceberg://prod/sales.orders has {what}.*which cannot be applied",
    ):
        orders.follow()


@dataclass(frozen=True)
class Written:
    """A row of a data file or a delete file, and the partition in which it is, if any."""

    values: Row
    partition: str | None


KEY = st.integers(0, 4) | st.none()
CITY = st.sampled_from(["Oslo", "Bergen"]) | st.none()
STEPS: st.SearchStrategy[tuple[str, list[Row]]] = st.one_of(
    st.tuples(st.just("append"), st.lists(st.tuples(KEY, CITY), min_size=1, max_size=4)),
    st.tuples(
        st.sampled_from(["k", "city", "k city"]), st.lists(st.tuples(KEY, CITY), min_size=1, max_size=3)
    ),
    st.tuples(st.just("partition"), st.just([])),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=2, max_size=8))
def test_histories(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[Row]]]) -> None:
    orders = Orders(tmp_path_factory.mktemp("history"))
    live: list[Written] = []
    is_partitioned = False
    for step, rows in steps:
        if step == "partition":
            if not is_partitioned:
                with orders.table.update_spec() as change:
                    change.add_identity("city")
            is_partitioned = True
            continue
        partitions = [f"city={city}" if is_partitioned else None for _, city in rows]
        written = [Written(*pair) for pair in zip(rows, partitions, strict=True)]
        if step == "append":
            orders.append(*rows)
            live += written
        else:
            orders.delete(rows, step.split())
            live = [row for row in live if not any(_deletes(step, key, row) for key in written)]
        assert orders.follow() == Counter(row.values for row in live)


def _deletes(columns: str, key: Written, row: Written) -> bool:
    places = [place for place, name in enumerate(("k", "city")) if name in columns.split()]
    is_there = key.partition is None or key.partition == row.partition
    return is_there and all(key.values[place] == row.values[place] for place in places)
