"""The rules about the effect of changes on data cover every field of Pinot's own classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from controller_client.as_code.effects import Effect, table_effect
from controller_client.as_code.fields import FieldChange
from controller_client.rest.capabilities import NEWEST_TESTED, Capabilities
from tests.support.program import result_of

pytestmark = pytest.mark.jvm

_TABLE_CONFIG = "org.apache.pinot.spi.config.table.TableConfig"

# The name of a table, and its retention, whose effect depends on the ages of its segments.
_NO_RULE = {
    ("tableName",),
    ("tableType",),
    ("segmentsConfig", "retentionTimeUnit"),
    ("segmentsConfig", "retentionTimeValue"),
}


def test_every_field_of_a_table_config_has_a_rule() -> None:
    classes = result_of("tests.support.class_fields", [_TABLE_CONFIG])
    fields = set(_fields(classes, _TABLE_CONFIG, ()))
    assert len(fields) > 100
    capabilities = Capabilities(NEWEST_TESTED)
    unknown = {
        field
        for field in fields
        if table_effect(FieldChange(field, 1, 2), {}, capabilities).effect is Effect.UNKNOWN
    }
    assert unknown == _NO_RULE


def _fields(classes: Mapping[str, Any], name: str, at: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, wanted in classes[name].items():
        inner, pointer = wanted, (*at, key)
        while inner["kind"] in ("list", "map") and inner["of"]["kind"] == "object":
            inner, pointer = inner["of"], (*pointer, "any")
        if inner["kind"] == "object":
            yield from _fields(classes, inner["class"], pointer)
        else:
            yield pointer
