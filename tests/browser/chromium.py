"""Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["SIZES", "THEMES", "missing", "open_chromium"]

SIZES = {"narrow": (390, 844), "wide": (1440, 900)}
THEMES = ("light", "dark")

_NAMES = ("chromium", "chromium-browser")


def missing() -> str | None:
    """Return what is missing to run a browser here; None if nothing is."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed (extra test)"
    if _executable() is None:
        return "chromium is not on the PATH (Debian's package chromium has it)"
    return None


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Run it without a window."""
    from playwright.sync_api import sync_playwright

    executable = _executable()
    assert executable is not None, missing()
    with sync_playwright() as playwright:
        # Its sandbox does not run as root in a container; the pages are our own.
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def _executable() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)
