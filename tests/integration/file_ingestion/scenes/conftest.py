from __future__ import annotations

import pytest

from tests.integration.file_ingestion.scenes.rows import chosen_rows
from tests.support.summary import SUMMARY


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_and_mode" in metafunc.fixturenames:
        chosen = chosen_rows(full=metafunc.config.getoption("--full"))
        metafunc.parametrize("engine_and_mode", chosen, ids=lambda row: row.id)


def _summary(config: pytest.Config) -> str:
    chosen, everything = (len(chosen_rows(full=full)) for full in (config.getoption("--full"), True))
    return f"scenes: {chosen} of {everything} engines and modes; all with --full"


SUMMARY.append(_summary)
