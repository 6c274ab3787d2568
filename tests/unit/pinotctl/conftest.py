"""Runs pinotctl as a user does, in this process and without the developer's own configuration."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pinotctl.root import cli

Run = Callable[..., Result]


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / "pinotctl.toml"


@pytest.fixture
def run(config_file: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("PINOT_CONTROLLER_URL", "PINOT_USERNAME", "PINOT_PASSWORD", "PINOT_TOKEN", "PINOT_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: str, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Result:
        return CliRunner().invoke(
            cli, arguments, env={"PINOTCTL_CONFIG": str(config_file), **(env or {})}, input=stdin
        )

    return invoke
