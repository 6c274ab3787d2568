"""The grouping of transforms and filters for evaluation."""

from __future__ import annotations

import pytest

from jvm_bridge.builder.expressions.groups import Group, groups_of
from jvm_bridge.builder.planning import Transform

ARGUMENTS = {
    "f(x)": ["x"],
    "f(x, y)": ["x", "y"],
    "f(a)": ["a"],
    "f(b)": ["b"],
    "f(a, b)": ["a", "b"],
    "now()": [],
    "Groovy({x}, x)": ["x"],
}


def groups(filter_function: str | None = None, **functions: str) -> tuple[Group, ...]:
    transforms = [Transform(column, function) for column, function in functions.items()]
    return groups_of(transforms, filter_function, ARGUMENTS)


def columns(found: tuple[Group, ...]) -> list[list[str]]:
    return [[each.column for each in group.transforms] for group in found]


def test_expressions_that_only_read_the_same_columns_stay_apart() -> None:
    found = groups(a="f(x)", b="f(x, y)")
    assert columns(found) == [["a"], ["b"]]
    # Existing values stay, so they matter.
    assert [group.names for group in found] == [{"a", "x"}, {"b", "x", "y"}]


@pytest.mark.parametrize(
    "functions", [{"a": "f(x)", "c": "f(a)"}, {"c": "f(a)", "a": "f(x)"}, {"a": "f(b)", "b": "f(a)"}]
)
def test_an_expression_is_grouped_with_its_inputs(functions: dict[str, str]) -> None:
    (group,) = groups(**functions)
    assert {each.column for each in group.transforms} == functions.keys()


def test_one_expression_may_join_others() -> None:
    found = groups(a="f(x)", b="f(x, y)", d="f(x)", c="f(a, b)")
    assert columns(found) == [["d"], ["a", "b", "c"]]
    assert found[1].names == {"a", "b", "c", "x", "y"}


def test_a_filter_is_grouped_with_its_inputs() -> None:
    found = groups("f(a)", a="f(x)", b="f(x)")
    assert [(columns((each,)), each.filter_function) for each in found] == [
        ([["b"]], None),
        ([["a"]], "f(a)"),
    ]
    (group,) = groups("f(x)")
    assert group == Group((), "f(x)", frozenset(["x"]), by_row=False)


@pytest.mark.parametrize(
    ("function", "by_row"),
    [
        ("f(x)", False),
        ("Groovy({x}, x)", True),
        ("now()", True),
        ("toEpochDays(ago('P1D'))", True),
        ("plus(NOW (), x)", True),
        ("snow(x)", False),
        ("upper(now)", False),
        ("rand()", True),
    ],
)
def test_results_that_vary_are_not_shared_among_rows(function: str, by_row: bool) -> None:
    (group,) = groups_of([Transform("a", function)], None, {function: ["x"]})
    assert group.by_row is by_row
    (group,) = groups_of([Transform("a", "f(x)")], function, {"f(x)": ["x"], function: ["a"]})
    assert group.by_row is by_row
