from __future__ import annotations

import pytest

from controller_client.publishing.targets import parse_quota


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100G", 100 * 2**30),
        ("100GB", 100 * 2**30),
        (" 1.5 t ", int(1.5 * 2**40)),
        ("2kb", 2048),
        ("7m", 7 * 2**20),
        ("1P", 2**50),
        ("12", 12),
        ("12B", 12),
        ("0", 0),
        (None, None),
        ("", None),
        ("much", None),
        ("10 apples", None),
        ("-1G", None),
    ],
)
def test_sizes_in_the_form_of_pinots_table_config(text: str | None, expected: int | None) -> None:
    assert parse_quota(text) == expected
