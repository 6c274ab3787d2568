"""Completion of names; there are none, without delay or message, if the cluster cannot be reached."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.pinotctl import pinotctl
from tests.unit.controller_client.cli.test_uniform import COMMANDS
from tests.unit.controller_client.scripted_server import ScriptedServer, answer, closed_port, silence

_NAMES = {"table_name", "table_names", "patterns", "table", "segment_name", "segment_names", "server"}


def completed(url: str, line: str, config: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "_PINOTCTL_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
        "PINOT_CONTROLLER_URL": url,
        "PINOTCTL_CONFIG": str(config),
    }
    return subprocess.run(pinotctl(), env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("step", [silence, answer(500, "broken"), answer(200, "no JSON")])
def test_a_failing_controller_yields_no_completions(step: object, tmp_path: Path) -> None:
    with ScriptedServer() as server:
        server.answers = lambda _: step  # type: ignore[return-value,assignment]
        began_s = time.monotonic()
        done = completed(server.url, "pinotctl table show k", tmp_path / "none")
        assert server.requests
    assert (done.stdout.strip(), done.stderr) == ("", "")
    assert time.monotonic() - began_s < 15


def test_an_unreachable_controller_or_wrong_settings_yield_no_completions(tmp_path: Path) -> None:
    done = completed(f"http://127.0.0.1:{closed_port()}", "pinotctl table show k", tmp_path / "none")
    assert (done.stdout.strip(), done.stderr) == ("", "")
    broken = tmp_path / "pinotctl.toml"
    broken.write_text("this is not TOML")
    done = completed("http://127.0.0.1:1", "pinotctl table show k", broken)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_all_arguments_that_are_names_are_completed() -> None:
    """A new argument that names a table must be a table_argument, too."""
    plain = [
        f"{command} {parameter.name}"
        for command, each in COMMANDS.items()
        for parameter in each.params
        if parameter.param_type_name == "argument"
        and parameter.name in _NAMES
        and parameter._custom_shell_complete is None
    ]
    assert not plain
