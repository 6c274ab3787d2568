from __future__ import annotations

import pytest

from tests.integration.file_ingestion.scenes.rows import SCENES, chosen_rows
from tests.support.summary import SUMMARY


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_and_mode" in metafunc.fixturenames:
        (scene,) = (n for n in SCENES if metafunc.function.__name__.startswith(f"test_scene_{n}_"))
        chosen = chosen_rows(scene, full=metafunc.config.getoption("--full"))
        metafunc.parametrize("engine_and_mode", chosen, ids=lambda row: row.id)


def _summary(config: pytest.Config) -> str:
    chosen, everything = (
        sum(len(chosen_rows(scene, full=full)) for scene in SCENES)
        for full in (config.getoption("--full"), True)
    )
    return f"scenes: {chosen} of {everything} with their engines and modes; all with --full"


SUMMARY.append(_summary)
