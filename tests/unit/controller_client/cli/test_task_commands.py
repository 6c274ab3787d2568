"""``pinotctl task``: what can be tested without a cluster."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.unit.controller_client.cli.conftest import Run

LOADED_BY_TASK = """
import json, sys
import minion_tasks.cli.task
print(json.dumps(sorted(name.partition(".")[0] for name in sys.modules)))
"""
COMMANDS = (
    ("register",),
    ("unregister",),
    ("show",),
    ("run",),
    ("watch",),
    ("plan",),
    ("purge",),
    ("session", "show"),
    ("session", "history"),
    ("session", "clear"),
    ("session", "report"),
)


def test_the_commands_load_neither_the_jvm_nor_a_store() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_TASK], capture_output=True, text=True, check=True)
    assert not {"jpype", "pyarrow", "pandas", "boto3", "rich", "pyspark", "py4j"} & set(
        json.loads(done.stdout)
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_requires_a_table_and_has_help(run: Run, command: tuple[str, ...]) -> None:
    assert "TABLE" in run("task", *command, "--help").stdout.splitlines()[0]
    refused = run("task", *command)
    assert refused.exit_code == 2
    assert "TABLE" in refused.stderr


@pytest.mark.parametrize("command", [("session", "clear"), ("purge",)], ids=" ".join)
def test_deletions_have_a_dry_run_and_a_confirmation(run: Run, command: tuple[str, ...]) -> None:
    text = run("task", *command, "--help").stdout
    for option in ("--dry-run", "--yes", "--wait-lock"):
        assert option in text


@pytest.mark.parametrize("setting", ["spark.executor.cores", "executor.cores=1", "=1"])
def test_an_invalid_spark_setting_is_refused(run: Run, setting: str) -> None:
    refused = run("task", "run", "t", "--spark-conf", setting)
    assert refused.exit_code == 2
    assert "spark.…=value" in refused.stderr


@pytest.mark.parametrize("period", ["4", "h", "-1h", "1w", ""])
def test_an_invalid_period_is_refused(run: Run, period: str) -> None:
    refused = run("task", "purge", "t", f"--older-than={period}")
    assert refused.exit_code == 2
    assert "30m, 4h or 1d" in refused.stderr
