"""The two lists of a replacement: what is refused, and the cost of checking many names."""

from __future__ import annotations

from typing import ClassVar

import pytest

from controller_client.errors import ConfigError
from controller_client.rest.lineage import check_lists


class Name(str):
    """A segment's name that counts how often it is compared."""

    __slots__ = ()
    compared: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, str(other))

    def __hash__(self) -> int:
        return str.__hash__(self)


def _comparisons(count: int) -> int:
    Name.compared = 0
    check_lists([Name(f"old_{n}") for n in range(count)], [Name(f"new_{n}") for n in range(count)])
    return Name.compared


def test_each_name_is_compared_with_few_others() -> None:
    assert _comparisons(4_000) <= 4 * _comparisons(1_000) + 4_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ([], [], "segmentsFrom and segmentsTo are both empty"),
        (["a", "b", "a"], ["c"], r"segmentsFrom lists segments twice: \['a'\]"),
        (["a"], ["c", "b", "c", "b"], r"segmentsTo lists segments twice: \['b', 'c'\]"),
        (["a", "b"], ["b"], r"replaced by themselves: \['b'\]"),
    ],
)
def test_invalid_lists_are_refused(old: list[str], new: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_lists(old, new)
