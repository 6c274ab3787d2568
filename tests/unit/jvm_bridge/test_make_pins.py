from __future__ import annotations

from pathlib import Path

import click
import pytest

from scripts.make_pins import Jar, arrange, matches

JARS = [Jar(name, Path()) for name in ("o.h:h:1", "a.b:c:2", "n:n:1", "n:n:1:osx-x86_64", "a.b:d:1")]


def test_dropped_and_last() -> None:
    kept = arrange(JARS, {"other systems": ["n:*:osx-*"]}, ["o.h:*"])
    assert [jar.coordinate for jar in kept] == ["a.b:c:2", "n:n:1", "a.b:d:1", "o.h:h:1"]


def test_a_rule_without_classifier_leaves_classifiers_alone() -> None:
    assert matches(JARS[2], "n:n")
    assert not matches(JARS[3], "n:n")
    assert matches(JARS[3], "n:*:osx-*")


def test_a_rule_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(click.ClickException, match="x:y"):
        arrange(JARS, {"old": ["x:y"]}, [])
