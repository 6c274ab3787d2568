"""A run tests one Pinot: the one that its environment names."""

from __future__ import annotations

import pytest

from tests.support.chosen_pinot import HOME, IMAGE, choose_pinot, described


def test_a_distribution_and_an_image_at_once_are_refused() -> None:
    chosen = {HOME: "/opt/pinot", IMAGE: "apachepinot/pinot:1.5.1"}
    with pytest.raises(pytest.UsageError, match=r"\(/opt/pinot\) and PINOT_IMAGE \(apachepinot/pinot"):
        choose_pinot(chosen)


@pytest.mark.parametrize("chosen", [{}, {HOME: "/opt/pinot"}, {IMAGE: "", HOME: "/opt/pinot"}])
def test_without_an_image_nothing_changes(chosen: dict[str, str]) -> None:
    before = dict(chosen)
    choose_pinot(chosen)
    assert chosen == before


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        ({}, "pinned jars (pinot-0.11.0)"),
        ({HOME: "/opt/pinot"}, "PINOT_HOME /opt/pinot"),
        ({IMAGE: "a/b:1", HOME: "/c"}, "PINOT_IMAGE a/b:1, its jars in /c"),
    ],
)
def test_the_run_names_it(chosen: dict[str, str], line: str) -> None:
    assert described(chosen) == line
