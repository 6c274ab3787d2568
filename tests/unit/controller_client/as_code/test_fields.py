from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
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

_VALUES = st.recursive(
    st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=1), inner),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(st.text("abc", max_size=1), _VALUES, max_size=4)


@given(_DOCUMENTS)
def test_a_document_has_no_changes_from_itself(document: dict[str, Any]) -> None:
    assert changes(document, copy.deepcopy(document)) == []


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
        return sorted((key, _sorted(inner)) for key, inner in value.items())
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
