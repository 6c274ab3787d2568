from __future__ import annotations

import importlib.metadata

import pytest

from jvm_bridge.minion.executors import ENTRY_POINT_GROUP, load_executors


def test_one_that_cannot_be_imported_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [
        importlib.metadata.EntryPoint("Good", "json:dumps", ENTRY_POINT_GROUP),
        importlib.metadata.EntryPoint("NoModule", "no_such_module:create", ENTRY_POINT_GROUP),
        importlib.metadata.EntryPoint("NoName", "json:no_such_name", ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    assert list(load_executors()) == ["Good"]
    assert "NoModule" in caplog.text
    assert "NoName" in caplog.text
