from __future__ import annotations

import pytest
from click.testing import CliRunner

from controller_client.cli import cli


def run(*words: str, role: str = "server") -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["serve", role, *words])
    return done.exit_code, done.output


@pytest.mark.parametrize("word", ["--help", "-help", "-h"])
def test_help_starts_no_server(word: str) -> None:
    code, text = run(word)
    assert code == 0
    assert "instead of" in text


def test_unknown_hooks() -> None:
    code, text = run("--hook", "partition-pause", "--hook", "nope", "-configFileName", "server.conf")
    assert code == 2
    assert "unknown hook: nope; available: " in text
    assert "partition-pause" in text


def test_a_hook_and_none() -> None:
    code, text = run("--hook", "partition-pause", "--no-hooks")
    assert code == 2
    assert "--hook and --no-hooks cannot be combined" in text


def test_pinots_arguments_are_not_split() -> None:
    """A single dash does not start a group of short options: this one contains the h of help."""
    code, text = run("-path", "x", "--hook", "nope")
    assert code == 2
    assert "unknown hook: nope" in text


def test_hooks_of_servers_are_not_hooks_of_brokers() -> None:
    code, text = run("--hook", "partition-pause", role="broker")
    assert code == 2
    assert "unknown hook: partition-pause; available: upsert" in text
