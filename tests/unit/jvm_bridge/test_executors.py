from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

from controller_client.common.folders import FolderLock
from controller_client.config import ControllerConfig
from controller_client.errors import SetupError, UnreachableError
from jvm_bridge.minion import HostedMinion, MinionSettings
from jvm_bridge.minion.executors import ENTRY_POINT_GROUP, load_executors


def install(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = [importlib.metadata.EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in points.items()]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found)


def test_installed_executors_are_loaded() -> None:
    assert list(load_executors()) == ["FileIngestionTask"]


@pytest.mark.parametrize(
    ("value", "message", "remedy"),
    [
        ("no_such_module:create [minion]", "Python module no_such_module", "pinot-plugins[minion]"),
        ("json:no_such_name", "AttributeError", "uninstall"),
    ],
)
def test_an_executor_that_cannot_be_imported_is_an_error(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str, remedy: str
) -> None:
    install(monkeypatch, Good="json:dumps", Bad=value)
    with pytest.raises(SetupError, match=message) as caught:
        load_executors()
    assert "the executor of Bad" in str(caught.value)
    assert remedy in str(caught.value)


def settings(tmp_path: Path) -> MinionSettings:
    config = ControllerConfig("http://127.0.0.1:1")
    return MinionSettings(config, "127.0.0.1:1", "c", "127.0.0.1", 9514, tmp_path)


def test_a_minion_does_not_start_without_the_module_that_an_executor_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith(("jvm_bridge.builder", "minion_tasks."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(SetupError, match="the executor of FileIngestionTask needs the Python module numpy"):
        HostedMinion(settings(tmp_path)).start()


def test_a_minion_does_not_start_without_any_executor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch)
    with pytest.raises(SetupError, match="no task executor is installed"):
        HostedMinion(settings(tmp_path)).start()


def test_a_second_minion_leaves_the_folder_of_the_first_alone(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "of the first").touch()
    first = FolderLock(tmp_path)
    assert first.try_acquire()
    with pytest.raises(SetupError, match=rf"another minion \(pid {os.getpid()}\) is using this folder"):
        HostedMinion(settings(tmp_path)).start()
    assert (tmp_path / "work" / "of the first").exists()
    first.release()
    # A start that fails later releases the folder.
    with pytest.raises(UnreachableError):
        HostedMinion(settings(tmp_path)).start()
    assert first.try_acquire()
    first.release()
