"""Airflow in its own environment, since it requires other package versions than the tests of this project.

The environment and a migrated database are created once (half a minute) and cached by a hash of their
content. This project is added by a folder on ``PYTHONPATH``, into which its wheel is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from jvm_bridge.jars import cache_folder
from tests.support.file_lock import file_lock

__all__ = ["AirflowEnvironment", "AirflowUnavailableError"]

_ROOT = Path(__file__).parents[2]
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_INSTALL_TIMEOUT_S = 900
_LAYOUT = "1"
"""To be changed whenever the environment is built differently."""


class AirflowUnavailableError(Exception):
    """Airflow cannot be installed, for the reason in the message."""


@dataclass(frozen=True)
class AirflowEnvironment:
    """An installation of Airflow.

    Attributes:
        folder: Folder of the environment.
        project: The folder that this project is installed in.
    """

    folder: Path
    project: Path

    @classmethod
    def make(cls, project: Path) -> AirflowEnvironment:
        """Create what does not exist yet.

        Args:
            project: Folder to install this project in.

        Raises:
            AirflowUnavailableError: The installation failed, such as without a package index.
        """
        text = _REQUIREMENTS.read_text(encoding="utf-8")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        key = hashlib.sha256(f"{_LAYOUT} {version} {text}".encode()).hexdigest()[:16]
        folder = cache_folder() / f"airflow-{key}"
        with file_lock(folder.parent / "airflow.lock"):
            if not (folder / "complete").exists():
                shutil.rmtree(folder, ignore_errors=True)
                _build(folder, text)
        options = ["--no-deps", "--no-build-isolation", "--target", str(project)]
        _run([sys.executable, "-m", "pip", "install", "--quiet", *options, str(_ROOT)])
        return cls(folder, project)

    @property
    def database(self) -> Path:
        """A migrated database, to be copied."""
        return self.folder / "home" / "airflow.db"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def run(self, variables: dict[str, str], program: str, *words: str) -> str:
        """Run a program in it; returns its output."""
        command = [str(self.folder / "bin" / program), *words]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def variables(self) -> dict[str, str]:
        """The environment variables for a program in it, without access to the tests' own environment."""
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
        return {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.project),
        }


def _build(folder: Path, requirements: str) -> None:
    venv.create(folder, with_pip=False, symlinks=True)
    python = str(folder / "bin" / "python")
    # pip would take four times as long for a hundred packages.
    (uv,) = (line for line in requirements.splitlines() if line.startswith("uv=="))
    _run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", uv])
    _run(
        [
            str(folder / "bin" / "uv"),
            *("pip", "install", "--quiet", "--no-deps", "--python", python, "-r", str(_REQUIREMENTS)),
        ]
    )
    home = folder / "home"
    environment = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    environment.pop("PYTHONPATH", None)
    _run([str(folder / "bin" / "airflow"), "db", "migrate"], environment)
    (folder / "complete").touch()


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    try:
        subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_S
        )
    except subprocess.CalledProcessError as error:
        tail = (error.stderr or error.stdout).strip()[-800:]
        raise AirflowUnavailableError(f"{' '.join(command[:6])} ... failed: {tail}") from error
    except subprocess.TimeoutExpired as error:
        raise AirflowUnavailableError(f"{command[0]} took over {_INSTALL_TIMEOUT_S} s") from error
