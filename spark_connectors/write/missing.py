"""Columns of the table that a DataFrame lacks: each of its rows would have nulls there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from controller_client.errors import ConfigError
from controller_client.models import Schema
from jvm_bridge.input_rules import MissingLimit, derived_columns

__all__ = ["check_missing", "expected_columns"]


def expected_columns(config: Mapping[str, Any], schema: Schema) -> frozenset[str]:
    """Return the columns of a table that nothing but a DataFrame can fill.

    Args:
        config: The table's config as a document.
        schema: Its schema.
    """
    ingestion = config.get("ingestionConfig") or {}
    if any(ingestion.get(part) is not None for part in ("complexTypeConfig", "enrichmentConfigs")):
        return frozenset()  # these may make any column from others
    # Pinot and the servers' hooks fill the others.
    names = frozenset(field.name for field in schema.fields if not field.name.startswith("$"))
    return names - derived_columns(config, schema.to_json())


def check_missing(
    expected: Collection[str], present: Collection[str], limit: MissingLimit
) -> tuple[str, ...]:
    """Refuse a DataFrame that lacks too many columns.

    Args:
        expected: The columns of the table that nothing else fills.
        present: The columns of the DataFrame.
        limit: How many it may lack.

    Returns:
        The columns that it lacks.

    Raises:
        ConfigError: It lacks more than allowed.
    """
    missing = tuple(sorted(set(expected) - set(present)))
    if not limit.allows(len(missing), len(expected)):
        raise ConfigError(
            f"the DataFrame lacks {len(missing)} of the table's {len(expected)} columns, which would be null"
            f" in all of its rows: {', '.join(missing)}",
            expected=f"at most {limit} missing, as set by 'maxMissingColumns' (default: 0)",
            remedy="add them to the DataFrame, or set 'maxMissingColumns' to how many it may lack: a number,"
            " or a percentage such as 50%",
        )
    return missing
