"""Columns that a version of Pinot has no type for; its own refusal of a schema does not name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller_client.errors import UnsupportedError
from controller_client.rest.capabilities import Capabilities, Capability

__all__ = ["check_columns"]

_SINGLE_VALUE_ONLY = ("BIG_DECIMAL", "JSON")


def check_columns(schema: Mapping[str, Any], capabilities: Callable[[], Capabilities]) -> None:
    """Refuse a schema with a column of which no segment can be built.

    Args:
        schema: The schema as a document, which need not be valid otherwise.
        capabilities: Reads what the cluster's version supports; called only if that matters.

    Raises:
        UnsupportedError: There is such a column; the message names it.
    """
    for kind in ("dimensionFieldSpecs", "dateTimeFieldSpecs"):
        specs = schema.get(kind)
        for spec in specs if isinstance(specs, list) else ():
            if isinstance(spec, Mapping):
                _check(spec, capabilities)


def _check(spec: Mapping[str, Any], capabilities: Callable[[], Capabilities]) -> None:
    name, data_type = spec.get("name"), spec.get("dataType")
    if data_type in _SINGLE_VALUE_ONLY and spec.get("singleValueField") is False:
        raise UnsupportedError(
            f"the column {name} is multi-value, and Pinot has no multi-value type for {data_type}",
            expected="a multi-value column of another type",
            remedy="make it a multi-value STRING column, or a single-value JSON column that contains arrays",
        )
    if data_type == "BIG_DECIMAL" and not capabilities().has(Capability.DECIMAL_DIMENSIONS):
        raise UnsupportedError(
            f"the column {name} is a BIG_DECIMAL, which in Pinot {capabilities().version} must be a metric",
            expected="a column in metricFieldSpecs",
            remedy="move it to metricFieldSpecs, or make it a STRING",
        )
