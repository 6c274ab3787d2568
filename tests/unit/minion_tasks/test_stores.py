"""Each store of a task is opened once, since creating an S3 client takes longer than most requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.filestore import kinds, s3
from controller_client.filestore.local import LocalStore
from jvm_bridge.builder import SegmentBuilder
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.staging_builder import StagingBuilder
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.types import RunTools
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.samples import TABLE, make_params, make_session, make_store

S3_KEYS = {"input__fs__prop__region": "x", "input__fs__prop__endpoint": "http://127.0.0.1:9"}


def test_a_subtask_opens_its_source_and_its_staging_folder_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[dict[str, str]] = []
    real = s3.S3Store.__init__

    def counted(self: s3.S3Store, properties: dict[str, str]) -> None:
        opened.append(properties)
        real(self, properties)

    monkeypatch.setattr(s3.S3Store, "__init__", counted)
    params = make_params(inputDirURI="s3://b/in", outputDirURI="s3://b/out", **S3_KEYS)
    session = make_session(staging_uri=f"s3://b/out/pinot-plugins-staging/{TABLE}/s1")
    StagingBuilder(session, params, cast("SegmentBuilder", None), tmp_path, FakeClock())
    assert len(opened) == 2


def test_a_run_opens_its_source_and_its_staging_folder_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[LocalStore] = []

    class Counted(LocalStore):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            opened.append(self)

    monkeypatch.setattr(kinds, "LocalStore", Counted)
    (tmp_path / "in").mkdir()
    params = make_params(inputDirURI=f"file://{tmp_path}/in", outputDirURI=f"file://{tmp_path}/out")
    sessions, memory = make_store()
    with ControllerClient(ControllerConfig("http://127.0.0.1:9")) as client:
        tools = RunTools(client, memory, Engines({}), FakeClock())
        cleaning = Cleaning(tools, TABLE, params, sessions)
        monkeypatch.setattr(cleaning, "purge", lambda: None)  # it would call the controller
        cleaning.sweep()
        for session_id in ("s1", "s2"):
            folder = tmp_path / "out" / "pinot-plugins-staging" / TABLE / session_id
            folder.mkdir(parents=True)
            (folder / "segment").touch()
            cleaning.delete_staging(session_id)
            assert not (folder / "segment").exists()
    assert len(opened) == 2
