"""The columns of tables that benchmarks create for Arrow data."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from controller_client.common.arrow_types import NUMBER_TYPES

__all__ = ["dimensions"]

_TYPES = {arrow: pinot for pinot, arrow in NUMBER_TYPES.items()} | {pa.string(): "STRING"}


def dimensions(fields: Iterable[pa.Field]) -> list[dict[str, str]]:
    """Return the ``dimensionFieldSpecs`` of a schema with a column for each field."""
    return [{"name": field.name, "dataType": _TYPES[field.type]} for field in fields]
