"""The two lists of a replacement: what is refused, and the cost of checking many names."""

from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from controller_client.rest.lineage import check_lists
from tests.unit.counted_name import CountedName, cost


def _cost(count: int) -> int:
    old, new = ([CountedName(f"{kind}_{n}") for n in range(count)] for kind in ("old", "new"))
    return cost(lambda: check_lists(old, new))


def test_each_name_is_compared_with_few_others() -> None:
    assert 0 < _cost(4_000) <= 4.5 * _cost(1_000)


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
