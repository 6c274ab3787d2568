"""The columns of a file against those that its table reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jvm_bridge.input_rules import ColumnMismatch

__all__ = ["SourceColumns", "derived_columns", "mismatch_of"]


@dataclass(frozen=True)
class SourceColumns:
    """What a table takes from its files.

    Attributes:
        read: Names that are looked for, arguments of transforms and filters among them.
        expected: Those of them that nothing else fills.
    """

    read: frozenset[str]
    expected: frozenset[str]


def derived_columns(table_config: Mapping[str, Any], schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the columns that transforms fill, so that a file need not have them."""
    ingestion = table_config.get("ingestionConfig") or {}
    configs = [*(ingestion.get("transformConfigs") or ()), *(ingestion.get("aggregationConfigs") or ())]
    names = {str(config.get("columnName")) for config in configs}
    kinds = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    for spec in (spec for kind in kinds for spec in schema.get(kind) or ()):
        name = str(spec.get("name"))
        if spec.get("transformFunction") or name.endswith(("__KEYS", "__VALUES")):
            names.add(name)
    time_spec = schema.get("timeFieldSpec") or {}
    outgoing, incoming = time_spec.get("outgoingGranularitySpec"), time_spec.get("incomingGranularitySpec")
    if outgoing and outgoing.get("name") != (incoming or {}).get("name"):
        names.add(str(outgoing.get("name")))
    return frozenset(names)


def mismatch_of(columns: SourceColumns, names: Sequence[str]) -> ColumnMismatch:
    """Compare a file whose columns are all known."""
    there = set(names)
    return ColumnMismatch(
        tuple(sorted(columns.expected - there)),
        tuple(name for name in dict.fromkeys(names) if name not in columns.read),
    )
