"""Every tutorial from an empty folder: an environment made of the wheel, and a cluster of its own.

The environment has what the tutorial's own ``pip install`` names, and nothing of the checkout.
``./test.sh tests/docs/tutorials --correct-pages`` writes what was printed into the pages.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.docs.place import ROOT, Place, correct
from tests.docs.runner import PageRun
from tests.packaging.environments import Environment, Installed

pytestmark = [pytest.mark.cluster, pytest.mark.jvm, pytest.mark.kafka]

TUTORIALS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "tutorials").glob("*.md"))
_INSTALL = re.compile(r"^\$ pip install (.*)$", re.MULTILINE)


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_does_what_it_says(
    wheel: Installed, tmp_path: Path, page: str, full: bool, pytestconfig: pytest.Config
) -> None:
    environment = _installed(wheel, tmp_path / "environment", (ROOT / page).read_text(encoding="utf-8"))
    place = Place(tmp_path / "home", environment.python)
    run = PageRun(place, page, full)
    try:
        run.run()
    finally:
        place.close()
    if pytestconfig.getoption("--correct-pages"):
        correct(ROOT / page, run.corrected)
    assert not run.differences, "\n\n".join(run.differences)


def _installed(wheel: Installed, folder: Path, page: str) -> Environment:
    """Make the environment that the page has its reader make."""
    (command,) = _INSTALL.findall(page)
    product, *besides = (Requirement(word.strip("'")) for word in command.split())
    assert product.name == "pinot-plugins"
    return wheel.with_extras(folder, product.extras, [str(each) for each in besides])
