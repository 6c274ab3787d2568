from __future__ import annotations

from typing import Any

from controller_client.as_code.fields import ABSENT, changes
from controller_client.as_code.references import hide
from controller_client.as_code.steps import shown_values


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
