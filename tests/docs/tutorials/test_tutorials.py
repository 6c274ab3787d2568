"""Every tutorial from an empty folder, with an environment made from the wheel, and its own cluster.

The environment has only what the tutorial's own ``pip install`` names, and nothing from the checkout.
``./test.sh tests/docs/tutorials --correct-pages`` writes the actual output into the pages.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import matplotlib.image
import pytest
from packaging.requirements import Requirement

from tests.docs.place import ROOT, Place, correct
from tests.docs.runner import PageRun
from tests.packaging.environments import Environment, Installed

pytestmark = [pytest.mark.cluster, pytest.mark.jvm, pytest.mark.kafka]

NOTEBOOK = "docs/notebook.md"
TUTORIALS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "tutorials").glob("*.md"))
_PLOT = re.compile(r"\]\(images/([\w-]+\.png)\)")
_INSTALL = re.compile(r"^\$ pip install (.*)$", re.MULTILINE)


@pytest.mark.parametrize("page", [*TUTORIALS, NOTEBOOK])
def test_a_tutorial_works_as_documented(
    wheel: Installed, tmp_path: Path, page: str, full: bool, pytestconfig: pytest.Config
) -> None:
    environment = _installed(wheel, tmp_path / "environment", (ROOT / page).read_text(encoding="utf-8"))
    place = Place(tmp_path / "home", environment.python)
    run = PageRun(place, page, full)
    try:
        run.run()
    finally:
        place.close()
    plots = _PLOT.findall((ROOT / page).read_text(encoding="utf-8"))
    if pytestconfig.getoption("--correct-pages"):
        correct(ROOT / page, run.corrected)
        for made in (place.page_folder(page) / name for name in plots):
            if made.exists():  # else a block before it has failed
                shutil.copy(made, ROOT / "docs" / "images")
    assert not run.differences, "\n\n".join(run.differences)
    for name in plots:
        _check_plot(place.page_folder(page) / name, ROOT / "docs" / "images" / name)


def _installed(wheel: Installed, folder: Path, page: str) -> Environment:
    """Create the environment that the page tells its reader to create."""
    (command,) = _INSTALL.findall(page)
    product, *besides = (Requirement(word.strip("'")) for word in command.split())
    assert product.name == "pinot-plugins"
    return wheel.with_extras(folder, product.extras, [str(each) for each in besides])


def _check_plot(made: Path, shown: Path) -> None:
    """Compare a plot with the one on the page, by its size and the share of it that is drawn on."""
    found, expected = (matplotlib.image.imread(path)[..., :3] for path in (made, shown))
    assert found.shape == expected.shape
    ink, expected_ink = ((pixels.min(axis=2) < 0.8).mean() for pixels in (found, expected))
    assert 0.01 < expected_ink < 0.9
    assert abs(ink - expected_ink) < 0.02
