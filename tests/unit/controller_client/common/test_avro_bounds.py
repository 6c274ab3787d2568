"""Which Avro schemas are decoded with, and that their data stay within what the schema promises."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.avro_bounds import VALUES_PER_BYTE, avro_size

_MAX_VALUES = 10_000


def record(*types: Any, name: str = "R") -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def doubled(levels: int) -> dict[str, Any]:
    """A record of 2 ** levels values, none of which takes a byte."""
    kind: Any = "null"
    for level in range(levels):
        kind = record(kind, "null" if level == 0 else f"R{level - 1}", name=f"R{level}")
    return record(kind)


def chain(levels: int) -> dict[str, Any]:
    """A record of records that are defined beside each other, each within the next."""
    defined = [record("int", name="N0")]
    defined += [record(f"N{level - 1}", name=f"N{level}") for level in range(1, levels)]
    return record(*defined)


def nested(levels: int) -> Any:
    """Arrays within each other."""
    kind: Any = "int"
    for _ in range(levels):
        kind = {"type": "array", "items": kind}
    return kind


ITEMS = {"type": "array", "items": "int"}
EMPTY = record(name="Empty")
REFUSED = {
    "a record within itself": record(["null", "R"]),
    "within an array of itself": record({"type": "array", "items": "R"}),
    "with a namespace": {**record(["null", "a.b.R"]), "namespace": "a.b"},
    "two records within each other": record(["null", record(["null", "R"], name="Other")]),
    "items without bytes": record({"type": "array", "items": "null"}),
    "items that are empty records": record({"type": "array", "items": EMPTY}),
    "items of a fixed type of no bytes": record(
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}
    ),
    "items with more fields than bytes": record(
        {"type": "array", "items": record("int", *["null"] * 30, name="Wide")}
    ),
    "nested arrays without bytes": record({"type": "array", "items": {"type": "array", "items": EMPTY}}),
    "a map of such items": record({"type": "map", "values": record(*["null"] * 50, name="Wide")}),
    "values that double at each level": doubled(60),
    "a deep schema": record(nested(150)),
    "a chain of names": chain(150),
    "no type": record("nothing"),
    "no object": 7,
}


@pytest.mark.parametrize("schema", REFUSED.values(), ids=REFUSED.keys())
def test_a_schema_whose_data_may_be_of_any_size_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        avro_size(schema)


ACCEPTED = {
    "the usual": record("string", ["null", "long"], ITEMS, {"type": "map", "values": "string"}, "null"),
    "a name that is used twice": record(record("int", name="In"), "In", {"type": "array", "items": "In"}),
    "an empty record": record(EMPTY, "int"),
    "a map as a set": record({"type": "map", "values": "null"}),
    "items that are optional records": record(
        {"type": "array", "items": ["null", record(*["null"] * 12, *["int"] * 9, name="In")]}
    ),
    "a wide table": record(*[["null", "string"]] * 5_000),
    "columns without values": record(*["null"] * 5_000),
    "namespaces": {**record(record("int", name="In"), "In", "a.In"), "namespace": "a"},
    "a type as an object": record({"type": "array", "items": {"type": "int"}}),
    "an enum and a fixed type": record(
        {"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["a"]}},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": 3}},
    ),
}


@pytest.mark.parametrize("schema", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_usual_schemas_are_accepted(schema: Any) -> None:
    assert avro_size(schema).levels < 5
    fastavro.parse_schema(schema)


def test_a_schema_that_is_only_measured_may_be_recursive() -> None:
    assert avro_size(record(["null", "R"], "int"), strict=False).least_bytes == 2
    assert avro_size(record("null", EMPTY), strict=False).least_bytes == 0
    assert avro_size(record({"type": "array", "items": "null"}), strict=False).least_bytes == 1


def values_in(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(values_in(each) for each in value.values())
    return 1 + sum(values_in(each) for each in value) if isinstance(value, list) else 1


def _records(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def named(types: list[Any], number: int) -> dict[str, Any]:
        return record(*types, name=f"R{number}")

    return st.builds(named, st.lists(inner, max_size=4), st.integers(0, 10**9))


_SCHEMAS = st.recursive(
    st.sampled_from(["null", "boolean", "int", "string", "double"]),
    lambda inner: st.one_of(
        _records(inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda values: {"type": "map", "values": values}, inner),
        st.builds(lambda other: ["null", other], inner.filter(lambda kind: isinstance(kind, dict))),
    ),
    max_leaves=8,
)


@given(_SCHEMAS, st.lists(st.sampled_from([0, 1, 2, 4, 8, 0x7E, 0x80, 0xFE]), max_size=40).map(bytes))
def test_data_make_no_more_values_than_their_schema_allows(schema: Any, data: bytes) -> None:
    schema = record(schema, name="Top")
    try:
        size = avro_size(schema)
        parsed = fastavro.parse_schema(schema)
    except (ValueError, fastavro.schema.SchemaParseException):
        return
    stream = io.BytesIO(data)
    try:
        row = fastavro.schemaless_reader(stream, parsed, None)
    except (EOFError, ValueError, IndexError, KeyError, TypeError):
        return
    read = stream.tell()
    assert read >= size.least_bytes
    assert values_in(row) <= max(size.excess, 0) + VALUES_PER_BYTE * read
    assert size.excess <= _MAX_VALUES
