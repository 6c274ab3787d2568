"""Groups transforms and the filter if one needs the result of another; without a JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jvm_bridge.builder.planning import Transform

__all__ = ["Group", "groups_of"]

# Functions whose result does not depend on their arguments alone, and scripts, of which this is unknown.
_NOT_DETERMINISTIC = re.compile(r"Groovy|.*\b(now|ago|ago_?mv|rand|random)\s*\(", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Group:
    """Functions that are evaluated together.

    Attributes:
        transforms: Some of the table's transforms.
        filter_function: The table's filter, in one of the groups.
        names: All columns that matter: arguments, and columns that transforms fill if they have no value.
        by_row: Whether rows with the same arguments may get different results.
    """

    transforms: tuple[Transform, ...]
    filter_function: str | None
    names: frozenset[str]
    by_row: bool


def groups_of(
    transforms: Sequence[Transform], filter_function: str | None, arguments: Mapping[str, Sequence[str]]
) -> tuple[Group, ...]:
    """Group functions that are connected by computed columns.

    Args:
        transforms: The table's transforms.
        filter_function: Its filter.
        arguments: The columns that each function reads.
    """
    computed = {transform.column for transform in transforms}
    groups = [
        Group(
            (transform,),
            None,
            frozenset([transform.column, *arguments[transform.function]]),
            _is_by_row(transform.function),
        )
        for transform in transforms
    ]
    if filter_function is not None:
        names = frozenset(arguments[filter_function])
        groups.append(Group((), filter_function, names, _is_by_row(filter_function)))
    apart: list[Group] = []
    for group in groups:
        # This group may connect groups that were separate.
        joined = [other for other in apart if other.names & group.names & computed]
        apart = [other for other in apart if other not in joined]
        apart.append(_together([*joined, group]))
    return tuple(apart)


def _is_by_row(function: str) -> bool:
    return _NOT_DETERMINISTIC.match(function) is not None


def _together(groups: Sequence[Group]) -> Group:
    return Group(
        tuple(transform for group in groups for transform in group.transforms),
        next((group.filter_function for group in groups if group.filter_function is not None), None),
        frozenset[str]().union(*(group.names for group in groups)),
        any(group.by_row for group in groups),
    )
