"""What a changed schema does to the data of its tables, and which changes Pinot refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.as_code.effects import Effect, FieldEffect
from controller_client.as_code.fields import FieldChange, same
from controller_client.as_code.objects import Document
from controller_client.rest.capabilities import Capabilities, Capability

__all__ = ["FIELD_LISTS", "columns_of", "schema_effect"]

FIELD_LISTS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs", "complexFieldSpecs")
"""The lists of columns in a schema; the old ``timeFieldSpec`` is a single column."""

_BREAKING = ("dataType", "singleValueField")
_OF_ROWS = (
    "defaultNullValue",
    "transformFunction",
    "format",
    "granularity",
    "maxLength",
    "maxLengthExceedStrategy",
)


def columns_of(schema: Document | None) -> dict[str, Mapping[str, Any]]:
    """Return the columns of a schema by name."""
    return {str(spec.get("name") or ""): spec for spec in _specs(schema or {})}


def schema_effect(
    change: FieldChange, old: Document, new: Document, capabilities: Capabilities
) -> FieldEffect:
    """Return what a changed field of a schema does to the data of its tables.

    Args:
        change: The field.
        old: The cluster's schema.
        new: The wanted schema.
        capabilities: What the cluster's version supports.
    """
    top, *rest = change.pointer
    if top == "primaryKeyColumns":
        return _primary_key(change, capabilities)
    if top not in FIELD_LISTS and top != "timeFieldSpec":
        return FieldEffect(Effect.NOTHING, "it only concerns queries or documentation")
    before, after = columns_of(old), columns_of(new)
    name = rest[0] if rest and top in FIELD_LISTS else _time_column(old) or _time_column(new)
    if not rest and top in FIELD_LISTS:
        return FieldEffect(Effect.NOTHING, "the order of columns")
    return _column(name or "", before.get(name or ""), after.get(name or ""), change, capabilities)


def _column(
    name: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    change: FieldChange,
    capabilities: Capabilities,
) -> FieldEffect:
    if before is None:
        until = (
            "until then, queries see its default value"
            if capabilities.has(Capability.MISSING_COLUMNS_AS_DEFAULT)
            else "until then, queries that select it, by name or by *, leave out segments without it"
        )
        return FieldEffect(Effect.RELOAD, f"segments get the column {name} when they are reloaded; {until}")
    if after is None:
        return FieldEffect(Effect.IMPOSSIBLE, f"Pinot refuses to remove the column {name}")
    if not capabilities.has(Capability.SCHEMA_FIELDS_CHANGE):
        return FieldEffect(Effect.IMPOSSIBLE, f"this version refuses any change of the column {name}")
    broken = [key for key in _BREAKING if not same(before.get(key), after.get(key))]
    if broken:
        return FieldEffect(
            Effect.IMPOSSIBLE, f"Pinot refuses to change {' and '.join(broken)} of the column {name}"
        )
    if change.pointer[-1] in _OF_ROWS:
        return FieldEffect(Effect.RE_INGEST, "existing rows keep the values that they were stored with")
    return FieldEffect(Effect.NOTHING, "it does not change what is stored")


def _primary_key(change: FieldChange, capabilities: Capabilities) -> FieldEffect:
    if change.old and capabilities.has(Capability.UPSERT_CHANGE_REFUSED):
        return FieldEffect(Effect.IMPOSSIBLE, "Pinot refuses to change the primary key")
    return FieldEffect(Effect.RESTART, "servers read the primary key when they start")


def _specs(schema: Document) -> Iterator[Mapping[str, Any]]:
    for key in FIELD_LISTS:
        yield from schema.get(key) or ()
    time = schema.get("timeFieldSpec")
    if time:
        yield {**time, "name": _time_column(schema)}


def _time_column(schema: Document) -> str | None:
    spec = schema.get("timeFieldSpec") or {}
    granularity = spec.get("outgoingGranularitySpec") or spec.get("incomingGranularitySpec") or {}
    name = granularity.get("name")
    return str(name) if name else None
