"""The picture of the parts: legible on a narrow screen, coloured in both themes."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
SVG = (DOCS / "images" / "parts.svg").read_text(encoding="utf-8")
STYLE = (DOCS / "assets" / "site.css").read_text(encoding="utf-8")

WIDTH, HEIGHT = (float(each) for each in re.findall(r'viewBox="0 0 (\d+) (\d+)" role', SVG)[0])

_NARROW_PX = 390 - 2 * 16  # a telephone's screen without the page's margins
_LEAST_FONT_PX = 10


def test_its_smallest_text_is_legible_on_a_narrow_screen() -> None:
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", SVG)]
    assert len(sizes) >= 2
    assert min(sizes) * _NARROW_PX / WIDTH >= _LEAST_FONT_PX


def test_each_color_exists_in_both_themes_in_the_file_and_on_the_site() -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", SVG))
    rules = re.findall(r"\.parts \{([^}]*)\}", SVG) + re.findall(r"\] svg\.parts \{([^}]*)\}", STYLE)
    assert len(rules) == 4
    assert used
    for rule in rules:
        assert set(re.findall(r"(--[\w-]+):", rule)) == used


def test_each_text_is_within_the_picture() -> None:
    places = re.findall(r'<text [^>]*x="([\d.]+)" y="([\d.]+)"', SVG)
    assert len(places) == SVG.count("<text ") > 10
    for x, y in places:
        assert 0 < float(x) < WIDTH
        assert 0 < float(y) < HEIGHT
