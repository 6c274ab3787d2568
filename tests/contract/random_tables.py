"""Random tables: columns of all types, any fitting index of Pinot, and values that are hard to preserve."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tests.contract.tables import (
    ARROW_TYPES,
    MULTI_VALUE_TYPES,
    MULTI_VALUE_TYPES_SINCE_1,
    TYPES,
    table_config,
)

__all__ = ["REFUSED", "RandomTable", "as_readers_give_it", "random_table"]

REFUSED = ("two UTF-16 units", "rows with no value other than NaN")
"""Why a table cannot be built by columns: a text is truncated inside a character, or a list has only NaN."""

_TEXTS = ["", " ", "a", "b", "ab", "abc", "Z", "a" * 40, "aaaaaaaab"]
_TEXTS += ["Ü", "ß", "日本", "\ue000", "\uffee", "\u00ff"]
_LONG_CHARACTERS = ["😀", "😀a", "\U0010ffff"]
_FLOATS = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 1e-30, 3.0e38, 1e-45]
_DECIMALS = ["0", "0.0", "1", "1.0", "1.00", "-7.25", "123456789012345678901234567890.5", "1E+3", "0.001"]
_JSON = ['{"a":1}', '{"a": {"b": [1, 2.5]}}', "[1,2]", '"x"', "5", '{"a":"ü","c":null}', "{}", "true"]
_NUMBERS = ("INT", "LONG", "FLOAT", "DOUBLE")
_CODECS = ("PASS_THROUGH", "SNAPPY", "ZSTANDARD", "LZ4")
_ROW_COUNTS = (1, 2, 3, 10, 40, 200, 1_000)
_MANY_ROWS = 70_000  # more than a batch


@dataclass(frozen=True)
class RandomTable:
    """A table's config, schema and rows, and whether its segment contains the time at which it was built."""

    config: dict[str, Any]
    schema: dict[str, Any]
    rows: pa.Table
    has_build_time: bool

    def with_one_zero(self) -> RandomTable:
        """Return the table with zero for negative zero, which Pinot 0.11 itself would keep."""
        rows = self.rows
        for number, column in enumerate(rows.schema):
            values = rows[column.name].combine_chunks()
            if pa.types.is_floating(column.type):
                rows = rows.set_column(number, column, pc.add(values, pa.scalar(0, column.type)))
            elif pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
                items = pc.add(values.values, pa.scalar(0, column.type.value_type))
                lists = pa.ListArray.from_arrays(values.offsets, items, column.type, mask=values.is_null())
                rows = rows.set_column(number, column, lists)
        return replace(self, rows=rows)

    def compared(self, reply: Mapping[str, Any]) -> list[Any]:
        """Return what is equal in two builds, described if a text index has the time of the build."""
        if not self.has_build_time:
            return [reply.get(key) for key in ("rows", "crc", "segment_size_bytes")]
        indexes = [line.split(" = ")[0] for line in reply["indexes"]]
        return [reply["rows"], reply["properties"], reply["files"], indexes]


@dataclass(frozen=True)
class _Column:
    name: str
    data_type: str
    kind: str
    single_value: bool

    @property
    def is_metric(self) -> bool:
        return self.kind == "metricFieldSpecs"


def random_table(seed: int, *, of_pinot_1: bool) -> RandomTable:
    """Return the table with this number, always the same one, for Pinot 0.11 or for later versions."""
    random = Random(seed)
    columns = [_column(random, number, of_pinot_1=of_pinot_1) for number in range(random.randint(1, 7))]
    rows = _MANY_ROWS if seed % 100 == 99 else random.choice(_ROW_COUNTS)
    indexing, fields = _indexes(random, columns)
    schema: dict[str, Any] = {"schemaName": "t"}
    for kind in ("dimensionFieldSpecs", "metricFieldSpecs"):
        schema[kind] = [_spec(random, each) for each in columns if each.kind == kind]
    data = {each.name: _values(random, each, rows) for each in columns}
    if "starTreeIndexConfigs" in indexing:
        data |= {each.name: _without_nan_sums(data[each.name]) for each in columns if each.is_metric}
    config = table_config(null_handling=random.random() < 0.5, indexing=indexing, fieldConfigList=fields)
    has_build_time = any(field.get("indexType") == "TEXT" for field in fields)
    return RandomTable(config, schema, pa.table(data), has_build_time)


def as_readers_give_it(table: pa.Table) -> pa.Table:
    """Return a table with booleans as texts, as all of Pinot's readers return them before 1.6."""
    for number, column in enumerate(table.schema):
        if pa.types.is_boolean(column.type):
            table = table.set_column(number, column.name, table[column.name].cast(pa.string()))
    return table


def _column(random: Random, number: int, *, of_pinot_1: bool) -> _Column:
    if random.random() < 0.2:
        data_type = random.choice(MULTI_VALUE_TYPES_SINCE_1 if of_pinot_1 else MULTI_VALUE_TYPES)
        return _Column(f"c{number}", data_type, "dimensionFieldSpecs", single_value=False)
    if random.random() < 0.25:
        return _Column(f"c{number}", random.choice(_NUMBERS), "metricFieldSpecs", single_value=True)
    return _Column(f"c{number}", random.choice(TYPES), "dimensionFieldSpecs", single_value=True)


def _spec(random: Random, column: _Column) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": column.name, "dataType": column.data_type}
    if not column.is_metric:
        spec["singleValueField"] = column.single_value
    if column.data_type in ("INT", "LONG", "DOUBLE") and random.random() < 0.3:
        spec["defaultNullValue"] = "7"
    if column.data_type == "STRING" and random.random() < 0.3:
        spec |= {"defaultNullValue": "nothing", "maxLength": 5}
    return spec


class _Indexes:
    """The indexes of a table config, collected column by column."""

    def __init__(self, random: Random) -> None:
        self.lists: dict[str, list[str]] = {}
        self.fields: list[dict[str, Any]] = []
        self.partitions: dict[str, Any] = {}
        self._random = random

    def _at(self, share: float) -> bool:
        return self._random.random() < share

    def _list(self, column: _Column, key: str) -> None:
        self.lists.setdefault(key, []).append(column.name)

    def add(self, column: _Column) -> None:
        is_raw = self._at(0.4)
        self._encode(column, is_raw=is_raw)
        if column.data_type in _NUMBERS and self._at(0.3):
            self._list(column, "rangeIndexColumns")
        if column.data_type in (*_NUMBERS, "STRING") and self._at(0.3):
            self._list(column, "bloomFilterColumns")
        if column.data_type == "JSON" and self._at(0.5):
            self._list(column, "jsonIndexColumns")
        if column.data_type == "STRING" and self._at(0.15):
            self._index_texts(column, is_raw=is_raw)
        if column.single_value and column.data_type in ("INT", "LONG", "STRING", "DOUBLE") and self._at(0.1):
            self._partition(column)

    def _encode(self, column: _Column, *, is_raw: bool) -> None:
        if is_raw:
            self._list(column, "noDictionaryColumns")
            if column.single_value and self._at(0.5):
                codec = self._random.choice(_CODECS)
                self.fields.append({"name": column.name, "encodingType": "RAW", "compressionCodec": codec})
            return
        if self._at(0.4):
            self._list(column, "invertedIndexColumns")
        if column.data_type in ("STRING", "BYTES") and self._at(0.3):
            self._list(column, "varLengthDictionaryColumns")

    def _index_texts(self, column: _Column, *, is_raw: bool) -> None:
        if column.name not in {field["name"] for field in self.fields}:
            kind = "FST" if column.single_value and not is_raw and self._at(0.5) else "TEXT"
            encoding = "RAW" if is_raw else "DICTIONARY"
            self.fields.append({"name": column.name, "encodingType": encoding, "indexType": kind})

    def _partition(self, column: _Column) -> None:
        if not self.partitions:
            functions = ("Murmur", "HashCode", "Modulo")
            function = self._random.choice(functions[: 3 if column.data_type in ("INT", "LONG") else 2])
            self.partitions[column.name] = {
                "functionName": function,
                "numPartitions": self._random.randint(1, 5),
            }


def _indexes(random: Random, columns: list[_Column]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    indexes = _Indexes(random)
    for column in columns:
        indexes.add(column)
    indexing: dict[str, Any] = {"createInvertedIndexDuringSegmentGeneration": random.random() < 0.5}
    if indexes.partitions:
        indexing["segmentPartitionConfig"] = {"columnPartitionMap": indexes.partitions}
    if random.random() < 0.3:
        indexing["optimizeDictionaryForMetrics"] = True
        indexing["noDictionarySizeRatioThreshold"] = random.random() * 3
    if random.random() < 0.15:
        indexing["optimizeDictionary"] = True
    _star_tree(random, columns, indexes.lists, indexing)
    return {**indexing, **indexes.lists}, indexes.fields


def _star_tree(
    random: Random, columns: list[_Column], lists: Mapping[str, list[str]], indexing: dict[str, Any]
) -> None:
    raw = lists.get("noDictionaryColumns", [])
    split = [
        each.name
        for each in columns
        if each.single_value and not each.is_metric and each.name not in raw
        and each.data_type in ("INT", "LONG", "STRING")
    ]  # fmt: skip
    if split and random.random() < 0.3:
        pairs = ["COUNT__*", *(f"SUM__{each.name}" for each in columns if each.is_metric)]
        tree = {"dimensionsSplitOrder": split, "functionColumnPairs": pairs, "maxLeafRecords": 2}
        indexing["starTreeIndexConfigs"] = [tree]


def _without_nan_sums(values: pa.Array) -> pa.Array:
    """Replace values whose sum is NaN: star-trees keep its sign, which depends on Java's compilers."""
    if not pa.types.is_floating(values.type):
        return values
    unfit = pc.or_kleene(pc.is_nan(values), pc.equal(values, -math.inf))
    return pc.if_else(unfit, pa.scalar(1.5, values.type), values)


def _values(random: Random, column: _Column, rows: int) -> pa.Array:
    value = _value_maker(random, column)
    nulls = random.choice((0.0, 0.0, 0.2, 1.0))
    if not column.single_value:
        lists = [
            None if random.random() < nulls else [value() for _ in range(random.randint(0, 4))]
            for _ in range(rows)
        ]
        return pa.array(lists, pa.list_(ARROW_TYPES[column.data_type]))
    values = [None if random.random() < nulls else value() for _ in range(rows)]
    if random.random() < 0.2 and column.data_type != "BOOLEAN":
        values.sort(key=lambda each: (each is not None, each if each == each else 0, str(each)))
    return pa.array(values, ARROW_TYPES[column.data_type])


def _value_maker(random: Random, column: _Column) -> Callable[[], Any]:
    few = random.random() < 0.5
    match column.data_type:
        case "INT" | "LONG":
            bits = 31 if column.data_type == "INT" else 63
            limit = 10 if few else random.choice((1_000, 100_000, 2**31 - 1, 2**bits - 1))
            return lambda: random.randint(-limit, limit)
        case "FLOAT" | "DOUBLE":
            kind = "<f" if column.data_type == "FLOAT" else "<d"
            if few:
                return lambda: random.choice(_FLOATS)
            return lambda: struct.unpack(kind, struct.pack(kind, random.uniform(-1e6, 1e6)))[0]
        case "BOOLEAN":
            return lambda: random.random() < 0.5
        case "TIMESTAMP":
            return lambda: random.randint(2**32, 2**41)
        case "BYTES":
            return lambda: random.randbytes(random.randint(0, 1 if few else 6))
        case "BIG_DECIMAL":
            return lambda: random.choice(_DECIMALS) if few else f"{random.randint(-(10**20), 10**20)}.5"
        case "JSON":
            return lambda: random.choice(_JSON) if few else json.dumps({"n": random.randint(0, 10**6)})
    texts = [*_TEXTS, *_LONG_CHARACTERS] if random.random() < 0.2 else _TEXTS
    return lambda: random.choice(texts) if few else random.choice(texts) + str(random.randint(0, 10**6))
