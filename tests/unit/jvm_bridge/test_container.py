from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jvm_bridge.cli.container import PinotAdmin, Pinotctl, command_of

OF_THE_CHART = ("-clusterName", "pinot", "-zkAddress", "z:2181", "-configFileName", "/var/pinot/x.conf")


@pytest.mark.parametrize("role", ["server", "broker"])
def test_roles_with_hooks_get_the_arguments_of_the_stock_ones(role: str) -> None:
    assert command_of([f"Start{role.title()}", *OF_THE_CHART]) == Pinotctl(("serve", role, *OF_THE_CHART))


def test_a_minion_logs_what_it_does() -> None:
    assert command_of(["StartMinion", *OF_THE_CHART]) == Pinotctl(("-v", "serve", "minion", *OF_THE_CHART))


@pytest.mark.parametrize("role", ["Minion", "Server", "Broker"])
def test_stock_roles_by_another_start_command(role: str) -> None:
    assert command_of([f"StartStock{role}", *OF_THE_CHART]) == PinotAdmin((f"Start{role}", *OF_THE_CHART))


@pytest.mark.parametrize("first", ["StartController", "StartZookeeper", "AddTable", "QuickStart", "-help"])
def test_everything_else_is_passed_to_pinot(first: str) -> None:
    assert command_of([first, "-x", "a b"]) == PinotAdmin((first, "-x", "a b"))


def test_no_argument_shows_pinots_help() -> None:
    assert command_of([]) == PinotAdmin(("-help",))


def test_any_command_of_this_project() -> None:
    assert command_of(["pinotctl", "queue", "waiting"]) == Pinotctl(("queue", "waiting"))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jvm_bridge.cli.container", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), **environment},
    )


def test_the_stock_script_replaces_the_process(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "pinot-admin.sh"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\nprintf "%s|" "$JAVA_OPTS" "$@"\nexit 7\n')
    script.chmod(0o755)
    done = run("StartController", "-x", "a b", "", PINOT_HOME=str(tmp_path), JAVA_OPTS="-Xmx1G -Da=b")
    assert (done.stdout, done.returncode) == ("-Xmx1G -Da=b|StartController|-x|a b||", 7)


def test_the_stock_script_has_default_signal_handlers(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "pinot-admin.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nkill -PIPE $$\necho it is ignored\n")
    script.chmod(0o755)
    done = run("StartController", PINOT_HOME=str(tmp_path))
    assert (done.stdout, done.returncode) == ("", -signal.SIGPIPE)


def test_signals_are_handled_before_the_commands_are_imported() -> None:
    program = "import sys, jvm_bridge.cli.container; print('controller_client.cli' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_hosted_role_prints_its_help() -> None:
    done = run("StartServer", "-help")
    assert done.returncode == 0
    assert "pinotctl serve server [OPTIONS] [STARTSERVER ARGUMENTS]" in done.stdout
