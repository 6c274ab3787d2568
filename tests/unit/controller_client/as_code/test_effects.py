from __future__ import annotations

from typing import Any

import pytest

from controller_client.as_code.effects import Effect, table_effect
from controller_client.as_code.fields import ABSENT, FieldChange, changes
from controller_client.as_code.schema_effects import columns_of, schema_effect
from controller_client.rest.capabilities import Capabilities, PinotVersion

_OLD, _NEW = Capabilities(PinotVersion(0, 11)), Capabilities(PinotVersion(1, 5, 1))


@pytest.mark.parametrize(
    ("pointer", "old", "new"),
    [
        ("tableIndexConfig/invertedIndexColumns", Effect.RELOAD, Effect.RELOAD),
        ("tableIndexConfig/noDictionaryColumns", Effect.RE_INGEST, Effect.RELOAD),
        ("fieldConfigList/city/encodingType", Effect.RE_INGEST, Effect.RELOAD),
        ("fieldConfigList/city/indexTypes", Effect.RELOAD, Effect.RELOAD),
        ("tableIndexConfig/sortedColumn", Effect.RE_INGEST, Effect.RE_INGEST),
        ("tableIndexConfig/streamConfigs/topic", Effect.NEW_SEGMENTS, Effect.NEW_SEGMENTS),
        ("tenants/server", Effect.REBALANCE, Effect.REBALANCE),
        ("tenants/broker", Effect.NOTHING, Effect.NOTHING),
        ("tierConfigs", Effect.REBALANCE, Effect.REBALANCE),
        ("upsertConfig/mode", Effect.RESTART, Effect.RESTART),
        ("task/taskTypeConfigsMap/X/schedule", Effect.NOTHING, Effect.NOTHING),
        ("somethingOfTheFuture", Effect.UNKNOWN, Effect.UNKNOWN),
    ],
)
def test_each_field_has_the_effect_of_its_rule(pointer: str, old: Effect, new: Effect) -> None:
    change = FieldChange(tuple(pointer.split("/")), 1, 2)
    assert table_effect(change, {}, _OLD).effect is old
    assert table_effect(change, {}, _NEW).effect is new


def test_a_reload_builds_a_star_tree_only_with_dynamic_creation() -> None:
    change = FieldChange(("tableIndexConfig", "starTreeIndexConfigs"), ABSENT, [{}])
    assert table_effect(change, {}, _NEW).effect is Effect.NEW_SEGMENTS
    dynamic = {"tableIndexConfig": {"enableDynamicStarTreeCreation": True}}
    assert table_effect(change, dynamic, _NEW).effect is Effect.RELOAD


_SCHEMA: dict[str, Any] = {
    "schemaName": "x",
    "dimensionFieldSpecs": [{"name": "a", "dataType": "INT"}, {"name": "b", "dataType": "STRING"}],
    "timeFieldSpec": {"incomingGranularitySpec": {"name": "t", "dataType": "LONG"}},
    "primaryKeyColumns": ["a"],
}

_DIMENSIONS = _SCHEMA["dimensionFieldSpecs"]
_OTHER_TIME = {"timeFieldSpec": {"incomingGranularitySpec": {"name": "u", "dataType": "LONG"}}}


@pytest.mark.parametrize(
    ("new", "on_old", "on_new"),
    [
        ({"dimensionFieldSpecs": [*_DIMENSIONS, {"name": "c"}]}, Effect.RELOAD, Effect.RELOAD),
        ({"dimensionFieldSpecs": _SCHEMA["dimensionFieldSpecs"][:1]}, Effect.IMPOSSIBLE, Effect.IMPOSSIBLE),
        (
            {"dimensionFieldSpecs": [{"name": "a", "dataType": "LONG"}, {"name": "b", "dataType": "STRING"}]},
            Effect.IMPOSSIBLE,
            Effect.IMPOSSIBLE,
        ),
        (
            {
                "dimensionFieldSpecs": [
                    {"name": "a", "dataType": "INT", "defaultNullValue": 1},
                    {"name": "b", "dataType": "STRING"},
                ]
            },
            Effect.IMPOSSIBLE,
            Effect.RE_INGEST,
        ),
        ({"dimensionFieldSpecs": _SCHEMA["dimensionFieldSpecs"][::-1]}, Effect.NOTHING, Effect.NOTHING),
        (_OTHER_TIME, None, Effect.IMPOSSIBLE),
        ({"primaryKeyColumns": ["b"]}, Effect.RESTART, Effect.IMPOSSIBLE),
        ({"enableColumnBasedNullHandling": True}, Effect.NOTHING, Effect.NOTHING),
        # Moving a column to another list changes neither its name nor its type.
        (
            {
                "dimensionFieldSpecs": [{"name": "b", "dataType": "STRING"}],
                "metricFieldSpecs": [{"name": "a", "dataType": "INT"}],
            },
            Effect.IMPOSSIBLE,
            Effect.NOTHING,
        ),
    ],
)
def test_effect_of_a_schema_change(new: dict[str, Any], on_old: Effect | None, on_new: Effect) -> None:
    wanted = {**_SCHEMA, **new}
    found = changes(_SCHEMA, wanted)
    assert found
    for capabilities, expected in ((_OLD, on_old), (_NEW, on_new)):
        effects = {schema_effect(change, _SCHEMA, wanted, capabilities).effect for change in found}
        if expected is not None:
            assert max(effects, key=lambda each: each.weight) is expected


def test_columns_of_reads_all_lists() -> None:
    assert set(columns_of(_SCHEMA)) == {"a", "b", "t"}
    assert columns_of(None) == {}
