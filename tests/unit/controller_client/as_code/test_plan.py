from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from controller_client.as_code.effects import Effect
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
from controller_client.as_code.table_data import DataSize, retention_ms
from controller_client.common.names import TableName
from controller_client.errors import ConfigError

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
    same: BaseModel = _PLAN.model_copy(update={"left_alone": ("schemas/y",), "folder": "/elsewhere"})
    assert isinstance(same, Plan)
    assert same.id == _PLAN.id
    other_step = _STEP.model_copy(update={"fingerprint": fingerprint({"a": 1}, {"a": 3})})
    elsewhere = {"controller": "http://d:9000"}
    for change in ({"owner": "them"}, elsewhere, {"steps": (other_step,)}, {"steps": ()}):
        assert _PLAN.model_copy(update=change).id != _PLAN.id


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "x"}', "null", "[" * 10_000])
def test_a_file_that_is_not_a_plan_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ConfigError, match="not a plan"):
        load_plan(tmp_path / "plan.json")


def test_an_edited_plan_is_refused(tmp_path: Path) -> None:
    document = _PLAN.to_json()
    document["steps"][0]["fingerprint"] = "0"
    (tmp_path / "plan.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="was changed"):
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


_TWO_DAYS = {"retentionTimeUnit": "DAYS", "retentionTimeValue": "2"}


@pytest.mark.parametrize(
    ("table", "config", "expected"),
    [
        ("x_OFFLINE", _TWO_DAYS, 172_800_000),
        ("x_OFFLINE", {"retentionTimeUnit": "days", "retentionTimeValue": 2}, 172_800_000),
        ("x_OFFLINE", {**_TWO_DAYS, "segmentPushType": "REFRESH"}, None),
        ("x_REALTIME", {**_TWO_DAYS, "segmentPushType": "REFRESH"}, 172_800_000),
        ("x_OFFLINE", {"retentionTimeUnit": "DAYS"}, None),
        ("x_OFFLINE", {"retentionTimeUnit": "EONS", "retentionTimeValue": "1"}, None),
        ("x_OFFLINE", {"retentionTimeUnit": "DAYS", "retentionTimeValue": "-1"}, None),
    ],
)
def test_retention_is_read_as_by_pinot(table: str, config: dict[str, str], expected: int | None) -> None:
    assert retention_ms(TableName(table), {"segmentsConfig": config}) == expected
