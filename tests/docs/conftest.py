"""The place where all pages are run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.place import Place


# Not until the end of the session: its cluster would run during the tests that follow.
@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("docs"))
    try:
        yield made
    finally:
        made.close()
