"""Differences between documents, and references in them instead of secrets."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_client.as_code.fields import (
    ABSENT,
    FieldChange,
    changes,
    copy_fields,
    leaves,
    value_at,
    without_nulls,
)
from controller_client.as_code.hiding import hide, secret_references
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.references import References
from controller_client.errors import ConfigError

_VALUES = st.recursive(
    st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=1), inner),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(st.text("abc", max_size=1), _VALUES, max_size=4)


@given(_DOCUMENTS)
def test_a_document_has_no_changes_from_itself(document: dict[str, Any]) -> None:
    assert changes(document, copy.deepcopy(document)) == []


@example({"": []}, {"": {}})
@given(_DOCUMENTS, _DOCUMENTS)
def test_changes_have_the_values_of_both_documents(old: dict[str, Any], new: dict[str, Any]) -> None:
    found = changes(old, new)
    assert bool(found) == (not _same(old, new))
    for change in found:
        assert value_at(old, change.pointer) == change.old
        assert value_at(new, change.pointer) == change.new


def _same(one: Any, other: Any) -> bool:
    return repr(_sorted(one)) == repr(_sorted(other))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(inner) for key, inner in sorted(value.items())}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("/a/b", 1, 2)]),
        ({"a": {"b": 1}}, {}, [("/a/b", 1, ABSENT)]),
        ({}, {"a": {"b": {"c": 1}}}, [("/a/b/c", ABSENT, 1)]),
        ({}, {"a": {}}, [("/a", ABSENT, {})]),
        ({"a": [1, 2]}, {"a": [2, 1]}, [("/a", [1, 2], [2, 1])]),
        ({"a": True}, {"a": 1}, [("/a", True, 1)]),
        ({"a/b": 1}, {"a/b": 2}, [("/a~1b", 1, 2)]),
        (
            {"f": [{"name": "x", "t": 1}, {"name": "y", "t": 1}]},
            {"f": [{"name": "x", "t": 2}, {"name": "z", "t": 1}]},
            [
                ("/f/x/t", 1, 2),
                ("/f/y/name", "y", ABSENT),
                ("/f/y/t", 1, ABSENT),
                ("/f/z/name", ABSENT, "z"),
                ("/f/z/t", ABSENT, 1),
            ],
        ),
        (
            {"f": [{"name": "x"}, {"name": "y"}]},
            {"f": [{"name": "y"}, {"name": "x"}]},
            [("/f", ["x", "y"], ["y", "x"])],
        ),
    ],
)
def test_each_field_is_a_separate_change(old: Any, new: Any, expected: list[Any]) -> None:
    found = [(change.path, change.old, change.new) for change in changes(old, new)]
    assert found == expected


def test_list_items_are_found_by_name_or_index() -> None:
    document = {"f": [{"name": "x", "t": 1}, {"name": "0", "t": 2}], "g": [7, 8]}
    assert value_at(document, ("f", "x", "t")) == 1
    assert value_at(document, ("f", "0", "t")) == 2  # a name takes precedence over an index
    assert value_at(document, ("g", "1")) == 8
    assert value_at(document, ("g", "2")) is ABSENT
    assert value_at(document, ("g", "1", "x")) is ABSENT


def test_leaves_are_neither_objects_nor_lists() -> None:
    assert list(leaves({"a": {"b": [1, {"c": 2}]}, "d": None})) == [
        (("a", "b", "0"), 1),
        (("a", "b", "1", "c"), 2),
        (("d",), None),
    ]


def test_null_fields_are_removed() -> None:
    assert without_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}


@pytest.mark.parametrize(
    ("source", "target", "pattern", "expected"),
    [
        ({"a": {"b": 1}}, {"a": {"c": 2}}, ("a", "b"), {"a": {"b": 1, "c": 2}}),
        ({}, {"a": {"b": 1, "c": 2}}, ("a", "b"), {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {}, ("a", "b"), {"a": {"b": 1}}),
        ({}, {"x": 1}, ("a", "b"), {"x": 1}),
        ({"m": {"t1": 1, "t2": 2}}, {"m": {"t1": 9}}, ("m", "t*"), {"m": {"t1": 1, "t2": 2}}),
    ],
)
def test_unmanaged_fields_are_copied(source: Any, target: Any, pattern: Any, expected: Any) -> None:
    kept = copy.deepcopy(target)
    assert copy_fields(source, target, [pattern]) == expected
    assert target == kept


def test_the_path_of_a_change_is_a_json_pointer() -> None:
    assert FieldChange(("a", "~x/y"), 1, 2).path == "/a/~0x~1y"


_TABLE = ObjectRef(Kind.TABLE, "flights_REALTIME")
_SECRET = "hunter2 is secret"


@pytest.fixture
def references(tmp_path: Path) -> References:
    (tmp_path / "pw.txt").write_text("from a file\n")
    return References({"PINOT_SECRET_A": "value of A", "PINOT_SECRET_EMPTY": ""}, tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:PINOT_SECRET_A}", "value of A"),
        ("user=${env:PINOT_SECRET_A};x", "user=value of A;x"),
        ("${file:pw.txt}", "from a file"),
        ("$${env:PINOT_SECRET_A}", "${env:PINOT_SECRET_A}"),
        ("${OTHER:default}", "${OTHER:default}"),
        ("$env:A", "$env:A"),
    ],
)
def test_references_are_replaced(references: References, text: str, expected: str) -> None:
    assert references.resolve({"a": [{"b": text}]}) == {"a": [{"b": expected}]}


def test_all_missing_variables_and_files_are_named(references: References) -> None:
    with pytest.raises(ConfigError) as caught:
        references.resolve(
            {
                "a": "${env:PINOT_SECRET_NOT}",
                "b": {"c": "${file:none.txt}"},
                "d": "${env:PINOT_SECRET_EMPTY}",
            }
        )
    assert "the variable PINOT_SECRET_NOT is not set (in /a)" in str(caught.value)
    assert "there is no file none.txt in " in str(caught.value)
    assert "the variable PINOT_SECRET_EMPTY is not set (in /d)" in str(caught.value)


def test_an_unset_variable_can_leave_its_field_unchanged(references: References) -> None:
    found = references.resolve(
        {"a": "${env:PINOT_SECRET_NOT}", "b": "${env:PINOT_SECRET_A}"}, {"a": "as it is"}
    )
    assert found == {"a": "as it is", "b": "value of A"}


def test_a_document_is_shown_with_references_instead_of_secrets() -> None:
    secrets = {"sasl.jaas.config": _SECRET, "topic": _SECRET}
    live = {**secrets, "url": "s3://user:hunter2@host/x", "plain": "shown"}
    shown = {"sasl.jaas.config": "${env:JAAS}", "topic": "${env:TOPIC}", "plain": "shown"}
    assert hide(live, shown) == {**shown, "url": "s3://***@host/x"}
    assert hide({"password": _SECRET}) == {"password": "***"}


def test_secrets_are_exported_as_references() -> None:
    live = {
        "stream": {"sasl.password": _SECRET, "topic": "x"},
        "list": [{"api.key": _SECRET}],
        "t": "${env:X}",
    }
    document, names = secret_references(_TABLE, live, taken=["PINOT_SECRET_FLIGHTS_REALTIME_API_KEY"])
    assert document == {
        "stream": {"sasl.password": "${env:PINOT_SECRET_FLIGHTS_REALTIME_SASL_PASSWORD}", "topic": "x"},
        "list": [{"api.key": "${env:PINOT_SECRET_FLIGHTS_REALTIME_API_KEY_2}"}],
        "t": "$${env:X}",
    }
    assert names == {
        "PINOT_SECRET_FLIGHTS_REALTIME_SASL_PASSWORD": ("stream", "sasl.password"),
        "PINOT_SECRET_FLIGHTS_REALTIME_API_KEY_2": ("list", "0", "api.key"),
    }
    assert References(dict.fromkeys(names, _SECRET), Path()).resolve(document) == live


def test_a_reference_for_a_task_is_kept_and_shown() -> None:
    live = {"input.fs.prop.secretKey": " ${env:PINOT_SECRET_A}"}
    assert hide(live) == live
    document, names = secret_references(_TABLE, live)
    assert (document, names) == ({"input.fs.prop.secretKey": " $${env:PINOT_SECRET_A}"}, {})
    assert References({}, Path()).resolve(document) == live


def test_templates_are_kept_and_only_their_defaults_may_be_secrets() -> None:
    """Pinot's roles replace them."""
    live = {"sasl.jaas.config": "${JAAS}", "who": "${USER:me}", "path": "${PATH}"}
    assert hide(live) == live
    assert secret_references(_TABLE, live) == (live, {})
    assert References({}, Path()).resolve(live) == live
    document, names = secret_references(_TABLE, {"password": f"${{PW:{_SECRET}}}"})
    assert document == {"password": "${env:PINOT_SECRET_FLIGHTS_REALTIME_PASSWORD}"}
    assert hide({"password": f"${{PW:{_SECRET}}}"}) == {"password": "***"}
    assert References(dict.fromkeys(names, "${PW:x}"), Path()).resolve(document) == {"password": "${PW:x}"}


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="larger than"):
        References({}, tmp_path).resolve({"a": "${file:big}"})


def test_values_other_than_text_are_unchanged_and_a_repr_contains_no_secret(references: References) -> None:
    document: dict[str, Any] = {"a": 1, "b": None, "c": [True, 1.5]}
    assert references.resolve(document) == document
    assert "value of A" not in repr(references)
