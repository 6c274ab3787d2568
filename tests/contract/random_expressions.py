"""Random transforms and filters on a random table's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.contract.random_tables import RandomTable

__all__ = ["with_random_expressions"]

_NUMBERS = ("INT", "LONG", "FLOAT", "DOUBLE")
_SPECS = ("dimensionFieldSpecs", "metricFieldSpecs")

# Functions by argument type, with {0} and {1} for columns, and their possible result types.
_ANY = [
    ("{0}", ("STRING",)),
    ("Groovy({{ {0} }}, {0})", ("STRING",)),
    ("Groovy({{ {0} == null ? 'none' : {0}.getClass().getSimpleName() }}, {0})", ("STRING",)),
    ("Groovy({{ {0} + '|' + {1} }}, {0}, {1})", ("STRING",)),
]
_OF: Mapping[str, list[tuple[str, tuple[str, ...]]]] = {
    "INT": [("toEpochDays({0})", ("INT", "LONG", "STRING")), ("concat({0}, {0}, '/')", ("STRING",))],
    "LONG": [("fromEpochSeconds({0})", ("LONG", "DOUBLE")), ("toDateTime({0}, 'yyyy-MM-dd')", ("STRING",))],
    "NUMBER": [
        ("plus({0}, {1})", ("DOUBLE",)),
        ("times({0}, 2)", ("DOUBLE", "STRING")),
        ("abs({0})", ("FLOAT",)),
    ],
    "STRING": [
        ("lower({0})", ("STRING",)),
        ("length({0})", ("INT", "BIG_DECIMAL")),
        ("reverse({0})", ("STRING",)),
    ],
    "JSON": [("jsonPathString({0}, '$.a', 'none')", ("STRING",)), ("{0}", ("JSON",))],
    "BOOLEAN": [("{0}", ("BOOLEAN", "STRING"))],
    "BYTES": [("{0}", ("BYTES",))],
    "TIMESTAMP": [("toEpochDays({0})", ("INT",)), ("{0}", ("TIMESTAMP", "LONG"))],
    "BIG_DECIMAL": [("{0}", ("BIG_DECIMAL",))],
}
_FILTERS = [
    "Groovy({{ {0} == null }}, {0})",
    "Groovy({{ {0} != null && {0}.toString().length() % 3 == 0 }}, {0})",
    "Groovy({{ true }}, {0})",
]


def with_random_expressions(table: RandomTable, seed: int, *, of_existing: bool) -> RandomTable:
    """Return a table with some additional computed columns, and perhaps a filter.

    Args:
        table: A random table.
        seed: The same seed gives the same result.
        of_existing: Whether a column with values may be computed where it has none.
    """
    random = Random(seed)
    kinds = {spec["name"]: spec["dataType"] for kind in _SPECS for spec in table.schema[kind]
             if spec.get("singleValueField", True)}  # fmt: skip
    if not kinds:
        return table
    schema: dict[str, Any] = {kind: [*table.schema[kind]] for kind in _SPECS}
    transforms: list[dict[str, str]] = []
    for number in range(random.randint(0, 4)):
        function, data_type, of = _function(random, kinds)
        name = f"x{number}"
        if of_existing and random.random() < 0.2:
            name, function, data_type = of, random.choice(["Groovy({ null })", f"Groovy({{ 7 }}, {of})"]), ""
        if any(each["columnName"] == name for each in transforms):
            continue
        if data_type:
            kind = "metricFieldSpecs" if data_type == "BIG_DECIMAL" else "dimensionFieldSpecs"
            schema[kind].append({"name": name, "dataType": data_type})
        transforms.append({"columnName": name, "transformFunction": function})
    ingestion: dict[str, Any] = {"transformConfigs": transforms}
    if random.random() < 0.5:
        chosen = random.choice([*kinds, *(each["columnName"] for each in transforms)])
        ingestion["filterConfig"] = {"filterFunction": random.choice(_FILTERS).format(chosen)}
    config = {**table.config, "ingestionConfig": ingestion}
    return replace(table, config=config, schema={**table.schema, **schema})


def _function(random: Random, kinds: Mapping[str, str]) -> tuple[str, str, str]:
    """Return a function, its result type, and a column that it reads."""
    name = random.choice(list(kinds))
    functions = _OF.get(kinds[name], [])
    if kinds[name] != "BYTES":
        functions = [*functions, *_ANY]
    if kinds[name] in _NUMBERS:
        functions = [*functions, *_OF["NUMBER"]]
    function, types = random.choice(functions)
    numeric = function.startswith("plus")
    fits: Callable[[str], bool] = (
        (lambda kind: kind in _NUMBERS) if numeric else (lambda kind: kind != "BYTES")
    )
    other = random.choice([each for each, kind in kinds.items() if fits(kind)] or [name])
    return function.format(name, other), random.choice(types), name
