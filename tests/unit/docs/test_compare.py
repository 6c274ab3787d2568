"""When printed output matches what a page shows."""

from __future__ import annotations

import pytest

from tests.docs.compare import difference


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a  b\nc", "a b\nc   "),
        ("a\n...\nd", "a\nb\nc\nd"),
        ("a\n...\nb", "a\nb"),
        ("...\nb\n...", "x\ny\nb"),
        ("took 3.5 s", "took 12 s"),
        ("3 rows in 298 ms; done", "3 rows in 4 ms; done"),
        ("at 2026-11-21T21:09:42Z", "at 2026-11-22 01:00:00Z"),
        ("session 20261121T181527177-e814c3", "session 20270101T000000000-000000"),
        ("paused by root@vm:21908 at", "paused by me@host-1.local:7 at"),
        ("staging_s   19.38", "staging_s  2.1"),
        ("bytes_read  42933", "bytes_read  9"),
        ("Plan 56f0803fd62236a3 for", "Plan cf3c6d7b84464469 for"),
        ("----------", "----"),
        ("\na\n", "a"),
    ],
)
def test_what_agrees(shown: str, printed: str) -> None:
    assert difference(shown.splitlines(), printed.splitlines()) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a", "b"),
        ("a", "a\nb"),
        ("a\nb", "a"),
        ("", "a"),
        ("rows  4000", "rows  3000"),
        ("a\n...\nd", "a\nb\nc"),
        ("state  DONE", "state  IN_PROGRESS"),
    ],
)
def test_what_differs(shown: str, printed: str) -> None:
    found = difference(shown.splitlines(), printed.splitlines())
    assert found is not None
    assert all(line in found for line in (*shown.splitlines(), *printed.splitlines()))


def test_the_shape_leaves_numbers_out() -> None:
    assert difference(["zookeeper  26096  2123  ok"], ["zookeeper  7  33000  ok"], shape=True) is None
    assert difference(["zookeeper  26096  2123  ok"], ["zookeeper  7  33000  down"], shape=True)
    assert difference(["1,165.5 rows"], ["3 rows"], shape=True) is None
