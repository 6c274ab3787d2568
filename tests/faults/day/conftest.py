from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.day.day import Day, begun_day
from tests.faults.day.results import RESULT
from tests.support.missing_tool import without
from tests.support.promtool import promtool
from tests.support.s3_program import S3UnavailableError
from tests.support.session import Session
from tests.support.summary import SUMMARY


@pytest.fixture
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """A day on a dedicated cluster, all of whose roles see the outage of the store."""
    promtool("--version")  # fail now instead of after the day
    folder = tmp_path_factory.mktemp("day")
    (folder / "cluster").mkdir()
    session = Session(folder / "cluster", faulty_store=True)
    try:
        try:
            session.s3  # noqa: B018 - starts it
        except S3UnavailableError as error:
            without(str(error))
        with begun_day(session, folder) as begun:
            yield begun
    finally:
        session.close()


SUMMARY.append(lambda _config: RESULT.line())
