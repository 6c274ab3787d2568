"""Plans, the effects that they predict, and the members of tenants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from controller_client.as_code.applying import _require_approved
from controller_client.as_code.effects import Effect, table_effect
from controller_client.as_code.fields import ABSENT, FieldChange, changes
from controller_client.as_code.hiding import hide
from controller_client.as_code.membership import (
    instance_documents,
    members,
    tags_with_members,
    tags_with_others,
)
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.plan import (
    Action,
    Plan,
    PlannedField,
    Step,
    effects_of,
    fingerprint,
    load_plan,
    save_plan,
)
from controller_client.as_code.refusals import emptied_tenant
from controller_client.as_code.schema_effects import columns_of, schema_effect
from controller_client.as_code.steps import shown_values
from controller_client.as_code.table_data import DataSize
from controller_client.as_code.wanted import Target
from controller_client.errors import ConfigError, ConflictError
from controller_client.rest.capabilities import Capabilities, PinotVersion

_STEP = Step(
    action=Action.UPDATE,
    object="tables/x_OFFLINE",
    fields=(PlannedField(field="/query/timeoutMs", old=1, new=2),),
    fingerprint=fingerprint({"a": 1}, {"a": 2}),
)
_PLAN = Plan(owner="us", folder="/x", controller="http://c:9000", steps=(_STEP,))


def test_a_saved_plan_is_read_back(tmp_path: Path) -> None:
    save_plan(_PLAN, tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == _PLAN


def test_the_id_depends_only_on_what_the_plan_would_do() -> None:
    more = _STEP.model_copy(update={"segments": 7, "size_bytes": 700})
    same: BaseModel = _PLAN.model_copy(
        update={"left_alone": ("schemas/y",), "folder": "/elsewhere", "steps": (more,)}
    )
    assert isinstance(same, Plan)
    assert same.id == _PLAN.id
    other_steps = [
        _STEP.model_copy(update=change)
        for change in (
            {"fingerprint": fingerprint({"a": 1}, {"a": 3})},
            {"effects": (Effect.DELETION,)},
            {"fields": ()},
            {"action": Action.DELETE},
        )
    ]
    steps = [{"steps": (step,)} for step in other_steps]
    elsewhere = {"controller": "http://d:9000"}
    others: list[dict[str, Any]] = [{"owner": "them"}, elsewhere, {"steps": ()}, *steps]
    for change in others:
        assert _PLAN.model_copy(update=change).id != _PLAN.id


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each value of a document, as the container and the key in it."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        yield document, key
        if isinstance(value, dict | list):
            yield from _places(value)


def test_a_saved_plan_whose_content_was_edited_anywhere_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    save_plan(_PLAN, file)
    text = file.read_text()
    for number, _ in enumerate(_places(json.loads(text))):
        document = json.loads(text)
        container, key = list(_places(document))[number]
        if key == "format":  # another version is refused as such
            continue
        value = container[key]
        container[key] = not value if isinstance(value, bool) else ["x"] if isinstance(value, list) else "x"
        file.write_text(json.dumps(document))
        with pytest.raises(ConfigError, match=r"was changed after it was written|is not a plan"):
            load_plan(file)


def test_a_step_that_now_does_more_to_the_data_is_not_what_was_approved() -> None:
    deleting = _STEP.model_copy(update={"effects": (Effect.DELETION, Effect.RELOAD)})
    now = _PLAN.model_copy(update={"steps": (deleting,)})
    with pytest.raises(ConflictError, match="have changed since plan"):
        _require_approved(_PLAN, now)
    _require_approved(now, _PLAN)
    _require_approved(_PLAN, _PLAN.model_copy(update={"steps": ()}))


def _edited() -> str:
    document = _PLAN.to_json()
    document["checksum"] = "0" * 64
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "not a plan") for text in ("", "[]", "{}", '{"id": "x"}', "null", "[" * 10_000)),
        (_edited(), "was changed"),
    ],
)
def test_a_file_that_is_not_a_plan_or_was_edited_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ConfigError, match=words):
        load_plan(tmp_path / "plan.json")


def test_effects_are_listed_once_with_the_greatest_first() -> None:
    fields = [
        PlannedField(field=f"/{number}", effect=effect)
        for number, effect in enumerate((Effect.RELOAD, Effect.NOTHING, Effect.RE_INGEST, Effect.RELOAD))
    ]
    assert effects_of(fields) == (Effect.RE_INGEST, Effect.RELOAD)
    assert effects_of(fields[1:2]) == (Effect.NOTHING,)


def test_sizes_add_up_unless_one_is_unknown() -> None:
    assert DataSize(1, 10) + DataSize(2, 5) == DataSize(3, 15)
    assert DataSize(1, None) + DataSize(2, 5) == DataSize(3, None)


def _shown(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [shown_values(change, hide(old), hide(new)) for change in changes(old, new)]


def test_a_secret_in_a_list_of_texts_is_masked() -> None:
    old, new = {"urls": ["s3://user:hunter2@host/x"]}, {"urls": ["s3://user:hunter3@host/x", "y"]}
    assert _shown(old, new) == [(["s3://***@host/x"], ["s3://***@host/x", "y"])]


def test_a_new_order_of_columns_is_shown_as_names() -> None:
    columns = [{"name": "a", "dataType": "INT"}, {"name": "b", "dataType": "INT"}]
    assert _shown({"f": columns}, {"f": columns[::-1]}) == [(["a", "b"], ["b", "a"])]


def test_a_missing_value_is_shown_as_absent() -> None:
    assert _shown({}, {"password": "hunter2"}) == [(ABSENT, "***")]
    assert _shown({"a": 1}, {}) == [(1, ABSENT)]


_OLD, _NEW = Capabilities(PinotVersion(0, 11)), Capabilities(PinotVersion(1, 5, 1))


@pytest.mark.parametrize(
    ("pointer", "effects"),
    [
        ("tableIndexConfig/invertedIndexColumns", [Effect.RELOAD]),
        ("tableIndexConfig/noDictionaryColumns", [Effect.RE_INGEST, Effect.RELOAD]),
        ("fieldConfigList/city/encodingType", [Effect.RE_INGEST, Effect.RELOAD]),
        ("fieldConfigList/city/indexTypes", [Effect.RELOAD]),
        ("tableIndexConfig/sortedColumn", [Effect.RE_INGEST]),
        ("tableIndexConfig/streamConfigs/topic", [Effect.NEW_SEGMENTS]),
        ("tenants/server", [Effect.REBALANCE]),
        ("tenants/broker", [Effect.NOTHING]),
        ("tierConfigs", [Effect.REBALANCE]),
        ("upsertConfig/mode", [Effect.RESTART]),
        ("task/taskTypeConfigsMap/X/schedule", [Effect.NOTHING]),
        ("somethingOfTheFuture", [Effect.UNKNOWN]),
    ],
)
def test_each_field_has_the_effect_of_its_rule(pointer: str, effects: list[Effect]) -> None:
    change = FieldChange(tuple(pointer.split("/")), 1, 2)
    old, new = (table_effect(change, {}, version).effect for version in (_OLD, _NEW))
    assert [old, new] == [effects[0], effects[-1]]


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

_A, _B = _SCHEMA["dimensionFieldSpecs"]


def _dimensions(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"dimensionFieldSpecs": [*fields]}


_OTHER_TIME = {"timeFieldSpec": {"incomingGranularitySpec": {"name": "u", "dataType": "LONG"}}}


@pytest.mark.parametrize(
    ("new", "on_old", "on_new"),
    [
        (_dimensions(_A, _B, {"name": "c"}), Effect.RELOAD, Effect.RELOAD),
        (_dimensions(_A), Effect.IMPOSSIBLE, Effect.IMPOSSIBLE),
        (_dimensions({**_A, "dataType": "LONG"}, _B), Effect.IMPOSSIBLE, Effect.IMPOSSIBLE),
        (_dimensions({**_A, "defaultNullValue": 1}, _B), Effect.IMPOSSIBLE, Effect.RE_INGEST),
        (_dimensions(_B, _A), Effect.NOTHING, Effect.NOTHING),
        (_OTHER_TIME, None, Effect.IMPOSSIBLE),
        ({"primaryKeyColumns": ["b"]}, Effect.RESTART, Effect.IMPOSSIBLE),
        ({"enableColumnBasedNullHandling": True}, Effect.NOTHING, Effect.NOTHING),
        # Moving a column to another list changes neither its name nor its type.
        ({**_dimensions(_B), "metricFieldSpecs": [_A]}, Effect.IMPOSSIBLE, Effect.NOTHING),
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


_TAGS = {
    "Broker_h_1": ["DefaultTenant_BROKER"],
    "Server_h_2": ["DefaultTenant_OFFLINE", "DefaultTenant_REALTIME", "rack7"],
    "Server_h_3": ["Fast_OFFLINE"],
    "Server_h_4": ["server_untagged"],
    "Minion_h_5": ["minion_untagged"],
}


def test_each_tag_is_in_one_document() -> None:
    assert instance_documents(_TAGS) == {
        ObjectRef(Kind.TENANT, "DefaultTenant"): {
            "tenant": "DefaultTenant",
            "brokers": ["Broker_h_1"],
            "offline_servers": ["Server_h_2"],
            "realtime_servers": ["Server_h_2"],
        },
        ObjectRef(Kind.TENANT, "Fast"): {
            "tenant": "Fast",
            "brokers": [],
            "offline_servers": ["Server_h_3"],
            "realtime_servers": [],
        },
        ObjectRef(Kind.INSTANCE, "Server_h_2"): {"instance": "Server_h_2", "tags": ["rack7"]},
        ObjectRef(Kind.INSTANCE, "Minion_h_5"): {"instance": "Minion_h_5", "tags": ["minion_untagged"]},
    }


def test_members_of_a_tenant_are_instances_with_its_tags() -> None:
    document = {"tenant": "T", "brokers": ["Broker_a_1"], "offline_servers": ["Server_b_2"]}
    assert members(document) == {("Broker_a_1", "T_BROKER"), ("Server_b_2", "T_OFFLINE")}
    assert members(None) == set()


def test_an_instance_without_a_tenant_is_untagged() -> None:
    assert tags_with_members("Server_h_2", ["T_OFFLINE"], [], ["T_OFFLINE"]) == ["server_untagged"]
    assert tags_with_members("Server_h_2", ["server_untagged"], ["T_OFFLINE"], []) == ["T_OFFLINE"]
    assert tags_with_members("Broker_h_1", ["rack7", "T_BROKER"], [], ["T_BROKER"]) == [
        "rack7",
        "broker_untagged",
    ]
    assert tags_with_others("Server_h_2", ["T_OFFLINE", "rack7"], ["rack8"]) == ["T_OFFLINE", "rack8"]
    assert tags_with_others("Minion_h_5", ["a"], []) == []


@given(
    st.sets(st.sampled_from(["A_OFFLINE", "A_REALTIME", "B_OFFLINE"])), st.sets(st.sampled_from(["r1", "r2"]))
)
def test_tags_survive_conversion_to_documents_and_back(of_tenants: set[str], others: set[str]) -> None:
    documents = instance_documents({"Server_h_1": [*of_tenants, *others]})
    tags: list[str] = []
    for document in documents.values():
        tags = tags_with_members(
            "Server_h_1", tags, [tag for _, tag in members(document)] if "tenant" in document else [], []
        )
    instance = documents.get(ObjectRef(Kind.INSTANCE, "Server_h_1"))
    tags = tags_with_others("Server_h_1", tags, instance["tags"] if instance else [])
    assert set(tags) - {"server_untagged"} == of_tenants | others
    assert ("server_untagged" in tags) == (not of_tenants)


@pytest.mark.parametrize(
    ("brokers", "offline", "realtime", "words"),
    [
        (["Broker_a_1"], ["Server_b_2"], [], None),
        (["Broker_a_1"], [], ["Server_b_2"], None),
        (["Broker_a_1"], [], [], "no server, but x_OFFLINE would still use it"),
        ([], ["Server_b_2"], [], "no broker, but x_OFFLINE would still use it"),
    ],
)
def test_a_tenant_in_use_cannot_lose_its_last_member(
    brokers: list[str], offline: list[str], realtime: list[str], words: str | None
) -> None:
    ref = ObjectRef(Kind.TENANT, "T")
    document = {"tenant": "T", "brokers": brokers, "offline_servers": offline, "realtime_servers": realtime}
    live = {
        ObjectRef(Kind.TABLE, "x_OFFLINE"): {"tenants": {"broker": "T", "server": "T"}},
        ObjectRef(Kind.TABLE, "y_OFFLINE"): {"tenants": {"broker": "U", "server": "U"}},
    }
    reason = emptied_tenant(Target(ref, None, document, document, document, document), live)
    assert reason is None if words is None else reason is not None and words in reason
