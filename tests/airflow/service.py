"""A running Airflow (API server, scheduler with workers, DAG processor, triggerer) and its REST API."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from tests.airflow.environment import AirflowEnvironment
from tests.support.local_ports import fixed_ports
from tests.support.wait import add_describer, remove_describer, wait_for

__all__ = ["Airflow", "DagRun"]

_COMPONENTS = {
    "api-server": ("api-server", "--workers", "1"),
    "scheduler": ("scheduler",),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer",),
}
_LOG_LINES = 40
_REST_TIMEOUT_S = 30.0
_TIMEOUT_S = 300.0
_OVER = frozenset({"success", "failed"})


class Airflow:
    """Airflow with its own home folder.

    Args:
        environment: The installation.
        folder: Its home folder.
        connections: Connections as JSON documents, by id.
    """

    def __init__(
        self, environment: AirflowEnvironment, folder: Path, connections: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.environment = environment
        self.home = folder
        self.dags = folder / "dags"
        self.dags.mkdir(parents=True)
        shutil.copyfile(environment.database, folder / "airflow.db")
        port, worker_logs, trigger_logs = fixed_ports(3)
        self.url = f"http://127.0.0.1:{port}"
        settings = {
            "api.host": "127.0.0.1",
            "api.port": str(port),
            "api.base_url": self.url,
            "api.secret_key": secrets.token_hex(16),
            "api_auth.jwt_secret": secrets.token_hex(32),
            "core.dags_folder": str(self.dags),
            "core.execution_api_server_url": f"{self.url}/execution/",
            "core.executor": "LocalExecutor",
            "core.load_examples": "False",
            "core.parallelism": "4",
            "core.simple_auth_manager_all_admins": "True",
            "dag_processor.refresh_interval": "5",
            "logging.trigger_log_server_port": str(trigger_logs),
            "logging.worker_log_server_port": str(worker_logs),
            "scheduler.enable_health_check": "False",
            "scheduler.scheduler_idle_sleep_time": "0.2",
            "scheduler.parsing_pre_import_modules": "False",
            "usage_data_collection.enabled": "False",
        }
        self.variables = {
            **environment.variables(),
            "AIRFLOW_HOME": str(folder),
            **{f"AIRFLOW__{key.replace('.', '__').upper()}": value for key, value in settings.items()},
            **{f"AIRFLOW_CONN_{name.upper()}": json.dumps(found) for name, found in connections.items()},
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start all components and wait until each reports that it is healthy."""
        add_describer(self.describe)
        for name in _COMPONENTS:
            self.launch(name)
        wait_for(self._is_healthy, "Airflow to be healthy")

    def launch(self, name: str) -> None:
        """Start a component."""
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [str(self.environment.folder / "bin" / "airflow"), *_COMPONENTS[name]],
                env=self.variables,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def close(self) -> None:
        """Stop everything that was started."""
        remove_describer(self.describe)
        for process in self._running.values():
            _signal(process, signal.SIGTERM)
        for process in self._running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
                process.wait(10)
            _signal(process, signal.SIGKILL)  # its child processes

    def run(self, dag_id: str, *, logical_date: str | None = None, **params: Any) -> DagRun:
        """Start a run of a DAG once Airflow has parsed it."""
        wait_for(lambda: self._dag_is_known(dag_id), f"the DAG {dag_id} to be read")
        self.call("PATCH", f"dags/{dag_id}", {"is_paused": False})
        answer = self.call("POST", f"dags/{dag_id}/dagRuns", {"logical_date": logical_date, "conf": params})
        return DagRun(self, dag_id, answer["dag_run_id"])

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Call the REST API."""
        answer = requests.request(method, f"{self.url}/api/v2/{path}", json=body, timeout=_REST_TIMEOUT_S)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def describe(self) -> str:
        """Return the ends of the logs."""
        logs = {name: self._log(name).read_text(errors="replace").splitlines() for name in self._running}
        ends = {name: "\n".join(lines[-_LOG_LINES:]) for name, lines in logs.items()}
        return "\n".join(f"--- airflow {name}, end of its log:\n{end}" for name, end in ends.items())

    def log_text(self) -> str:
        """Return all log lines of the components, tasks and triggers."""
        files = [*self.home.glob("*.log"), *self.home.glob("logs/**/*.log*")]
        return "\n".join(file.read_text(errors="replace") for file in files)

    def _log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def _dag_is_known(self, dag_id: str) -> bool:
        errors = self.call("GET", "importErrors")["import_errors"]
        assert not errors, errors[0]["stack_trace"]
        return requests.get(f"{self.url}/api/v2/dags/{dag_id}", timeout=_REST_TIMEOUT_S).ok

    def _is_healthy(self) -> bool:
        for name, process in self._running.items():
            assert process.poll() is None, f"{name} exited: {self.describe()}"
        parts = requests.get(f"{self.url}/api/v2/monitor/health", timeout=_REST_TIMEOUT_S).json()
        return all(part["status"] == "healthy" for part in parts.values())


class DagRun:
    """A run of a DAG."""

    def __init__(self, airflow: Airflow, dag_id: str, run_id: str) -> None:
        self.airflow = airflow
        self.dag_id = dag_id
        self.run_id = run_id
        self._path = f"dags/{dag_id}/dagRuns/{run_id}"

    def task(self, task_id: str) -> dict[str, Any]:
        """Return the current state of a task instance."""
        found: dict[str, Any] = self.airflow.call("GET", f"{self._path}/taskInstances/{task_id}")
        return found

    def wait(self) -> str:
        """Wait for the end of the run and return its state."""

        def ended() -> str | None:
            state = self.airflow.call("GET", self._path)["state"]
            return state if state in _OVER else None

        return str(wait_for(ended, f"the end of {self.dag_id} {self.run_id}", _TIMEOUT_S, interval_s=0.3))

    def wait_for_task(self, task_id: str, *states: str) -> dict[str, Any]:
        """Wait until a task is in one of these states."""

        def there() -> dict[str, Any]:
            found = self.task(task_id)
            return found if found["state"] in states else {}

        return wait_for(there, f"{task_id} of {self.dag_id} to be {states}", _TIMEOUT_S)

    def returned(self, task_id: str) -> Any:
        """Return the value that a task returned."""
        path = f"{self._path}/taskInstances/{task_id}/xcomEntries/return_value"
        return self.airflow.call("GET", path)["value"]

    def clear(self, *task_ids: str) -> None:
        """Clear tasks as the user interface does, so that they run again."""
        which = {"dag_run_id": self.run_id, "task_ids": list(task_ids), "only_failed": False}
        order = {**which, "dry_run": False, "reset_dag_runs": True}
        self.airflow.call("POST", f"dags/{self.dag_id}/clearTaskInstances", order)

    def fail(self, task_id: str) -> None:
        """Mark a task as failed as the user interface does, which stops it."""
        self.airflow.call("PATCH", f"{self._path}/taskInstances/{task_id}", {"new_state": "failed"})

    def states(self) -> dict[str, str]:
        """The states of all tasks."""
        found = self.airflow.call("GET", f"{self._path}/taskInstances")["task_instances"]
        return {each["task_id"]: each["state"] for each in found}

    def logs(self, task_id: str) -> str:
        """Return the logs of all tries of a task and its triggers."""
        folder = self.airflow.home / "logs" / f"dag_id={self.dag_id}" / f"run_id={self.run_id}"
        files = sorted((folder / f"task_id={task_id}").rglob("*.log*"))
        return "\n".join(file.read_text(errors="replace") for file in files)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
