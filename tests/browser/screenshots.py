"""``python -m tests.browser.screenshots FOLDER [NAME...]``: pictures of the pages, for inspection.

Each page (all, unless some are named) in both widths and both themes, from its top, at most 6,000 pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.browser.chromium import SIZES, THEMES, missing, open_chromium
from tests.browser.samples import pages

_HIGHEST = 6_000


def main(folder: Path, names: list[str]) -> None:
    """Write them."""
    reason = missing()
    if reason is not None:
        raise SystemExit(reason)
    folder.mkdir(parents=True, exist_ok=True)
    with open_chromium() as browser:
        page = browser.new_page()
        for name, render in pages(folder).items():
            if names and name not in names:
                continue
            file = folder / f"{name}.html"
            file.write_text(render(), encoding="utf-8")
            page.goto(file.resolve().as_uri())
            for size, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                end = min(_HIGHEST, page.evaluate("document.documentElement.scrollHeight"))
                for theme in THEMES:
                    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                    page.screenshot(
                        path=folder / f"{name}-{size}-{theme}.png",
                        full_page=True,
                        clip={"x": 0, "y": 0, "width": width, "height": end},
                    )
    (folder / "written.html").unlink(missing_ok=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
