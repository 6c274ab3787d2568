"""Documents without secrets: what a plan masks, an export does not write."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.as_code.fields import value_at
from controller_client.as_code.hiding import hide, is_unfinished, secret_references
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.references import References
from controller_client.consumption.recipes.stream_change import KEPT_SECRETS

_TABLE = ObjectRef(Kind.TABLE, "flights_REALTIME")
_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.c2lnbmVkLWh1bnRlcjI"


@pytest.mark.parametrize(
    "document",
    [
        {"schema.registry.authorization": "Basic aHVudGVyMjpodW50ZXIy"},
        {"x": "Bearer aHVudGVyMjpodW50ZXIyA"},
        {"x": _TOKEN},
        {"x": "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"},
        {"sasl.pwd": "hunter2", "passcode": "hunter2", "amqp.pass": "hunter2"},
        {"url": "https://a.blob.core.windows.net/c?sv=1&sig=hunter2"},
        {"passwords": ["hunter2", {"of": "hunter2"}]},
        {"credentials": {"a": {"b": "hunter2"}, "number": 7062342}},
        {"apiKey": 7062342},
        {"properties": '{"secretKey": "hunter2"}'},
        {"password": "${A} hunter2 ${B}"},
    ],
)
def test_what_a_plan_masks_an_export_does_not_write(document: dict[str, Any]) -> None:
    exported, names = secret_references(_TABLE, document)
    assert names
    for shown in (json.dumps(exported), json.dumps(hide(document))):
        assert not re.search("hunter2|aHVudGVy|eyJhbGci|7062342", shown), shown
    assert hide(exported) == exported


def test_the_values_of_a_column_are_no_secrets_because_of_its_name() -> None:
    table = {
        "tableIndexConfig": {
            "bloomFilterConfigs": {"user_token": {"fpp": 0.05}},
            "segmentPartitionConfig": {"columnPartitionMap": {"apiKey": {"functionName": "Murmur"}}},
        },
        "upsertConfig": {"partialUpsertStrategies": {"password": "OVERWRITE"}},
    }
    assert hide(table) == table
    assert secret_references(_TABLE, table) == (table, {})


_SECRET_KEYS = st.sampled_from(["password", "sasl.pwd", "api.key", "credentials", "jaas.config"])
_PLAIN_KEYS = st.sampled_from(["topic", "a", "name", "x.y", "0"])
_FORMS = st.sampled_from(
    [
        *("Bearer {}A1", "s3://me:{}@host", "https://host/?sig={}", "password={}", '"token":"{}"'),
        "-----BEGIN PRIVATE KEY-----{}",
    ]
)
_HIDDEN = st.integers(1_000_000, 9_999_999).map(lambda number: f"hunter{number}")
_PLAIN = st.booleans() | st.none() | st.integers(0, 9) | st.text("ab ={}$:\\\"'", max_size=6)


def _below(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        value,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_PLAIN_KEYS, inner, max_size=3),
        max_leaves=4,
    )


_DOCUMENTS = st.lists(
    st.tuples(_PLAIN_KEYS, _below(_PLAIN))
    | st.tuples(_SECRET_KEYS, _below(_HIDDEN | _PLAIN))
    | st.tuples(_PLAIN_KEYS, _below(st.builds(str.format, _FORMS, _HIDDEN))),
    max_size=5,
).map(dict)


@given(_DOCUMENTS)
def test_an_export_has_nothing_to_hide_and_is_what_the_cluster_has(document: dict[str, Any]) -> None:
    exported, names = secret_references(_TABLE, document)
    assert hide(exported) == exported
    assert "hunter" not in json.dumps([exported, hide(document)])
    references = References({name: str(value_at(document, at)) for name, at in names.items()}, Path())
    draft = references.draft(exported)
    assert "hunter" not in json.dumps([draft, references.show(draft)])
    resolved = references.fill(draft)
    assert resolved == _with_texts(document, set(names.values()))
    assert "hunter" not in json.dumps(hide(resolved, exported))
    assert "hunter" not in references.clean(f"cannot read {json.dumps(resolved)}")


def _with_texts(value: Any, secrets: set[tuple[str, ...]], at: tuple[str, ...] = ()) -> Any:
    """A document whose secret numbers are texts, as a file has them."""
    if isinstance(value, dict):
        return {key: _with_texts(inner, secrets, (*at, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_texts(inner, secrets, (*at, str(index))) for index, inner in enumerate(value)]
    return str(value) if at in secrets else value


def test_the_bookkeeping_of_a_stream_change_is_neither_shown_nor_exported() -> None:
    custom = {KEPT_SECRETS: "hunter2", "plain": "x"}
    live = {"metadata": {"customConfigs": custom}}
    assert hide(live) == {"metadata": {"customConfigs": {KEPT_SECRETS: "***", "plain": "x"}}}
    assert secret_references(_TABLE, live) == ({"metadata": {"customConfigs": {"plain": "x"}}}, {})
    assert is_unfinished(_TABLE, live)
    assert not is_unfinished(_TABLE, {"metadata": {"customConfigs": {}}})


def test_the_old_value_of_a_field_with_a_reference_is_masked() -> None:
    written = {"a": "${env:A}", "n": "${env:N}", "b": "y"}
    assert hide({"a": "x", "n": 3, "b": "x"}, written, old=True) == {"a": "***", "n": "***", "b": "x"}
    assert hide({"a": "x", "n": 3, "b": "y"}, written) == written
