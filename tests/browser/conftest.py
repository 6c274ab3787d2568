"""One browser for all tests of this folder.

It ends with the folder's last test: while playwright is open, an event loop runs in this thread, and
other tests cannot start one of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import missing, open_chromium
from tests.browser.samples import pages
from tests.support.missing_tool import without

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    reason = missing()
    if reason is not None:
        without(reason)
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a page, by its name."""
    folder = tmp_path_factory.mktemp("pages")
    rendering: Mapping[str, Callable[[], str]] = pages(folder)

    def file_of(name: str) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(rendering[name](), encoding="utf-8")
        return file

    return file_of
