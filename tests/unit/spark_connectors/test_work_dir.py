from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from spark_connectors.work_dir import work_dir


def test_the_option_precedes_sparks_folder_and_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/disk1/spark,/disk2/spark")
    assert work_dir("/mine") == Path("/mine")
    assert work_dir() == Path("/disk1/spark")
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert work_dir() == Path(tempfile.gettempdir())
