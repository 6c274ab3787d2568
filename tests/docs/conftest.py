"""The place where pages are run, once a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.place import Place


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("docs"))
    try:
        yield made
    finally:
        made.close()
