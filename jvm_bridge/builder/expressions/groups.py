"""Transforms and a filter, put together where one needs what another gives; no JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jvm_bridge.builder.planning import Transform

__all__ = ["Group", "groups_of"]

# What these give is no matter of their arguments alone, and of a script it cannot be known.
_ANEW_EACH_TIME = re.compile(r"Groovy|.*\b(now|ago|ago_?mv|rand|random)\s*\(", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Group:
    """Functions that are evaluated together.

    Attributes:
        transforms: Some of the table's.
        filter_function: The table's filter, in one of the groups.
        names: All columns that count: arguments, and what the transforms fill if nothing is there.
        by_row: Whether a row may get another result than one with the same arguments.
    """

    transforms: tuple[Transform, ...]
    filter_function: str | None
    names: frozenset[str]
    by_row: bool


def groups_of(
    transforms: Sequence[Transform], filter_function: str | None, arguments: Mapping[str, Sequence[str]]
) -> tuple[Group, ...]:
    """Group what hangs together by columns that are computed.

    Args:
        transforms: The table's transforms.
        filter_function: Its filter.
        arguments: The columns that each function reads.
    """
    computed = {transform.column for transform in transforms}
    groups = [
        Group((each,), None, frozenset([each.column, *arguments[each.function]]), _is_by_row(each.function))
        for each in transforms
    ]
    if filter_function is not None:
        names = frozenset(arguments[filter_function])
        groups.append(Group((), filter_function, names, _is_by_row(filter_function)))
    apart: list[Group] = []
    for group in groups:
        # What was apart may be brought together by this one.
        joined = [each for each in apart if each.names & group.names & computed]
        apart = [each for each in apart if each not in joined]
        apart.append(_together([*joined, group]))
    return tuple(apart)


def _is_by_row(function: str) -> bool:
    return _ANEW_EACH_TIME.match(function) is not None


def _together(groups: Sequence[Group]) -> Group:
    return Group(
        tuple(transform for group in groups for transform in group.transforms),
        next((group.filter_function for group in groups if group.filter_function is not None), None),
        frozenset[str]().union(*(group.names for group in groups)),
        any(group.by_row for group in groups),
    )
