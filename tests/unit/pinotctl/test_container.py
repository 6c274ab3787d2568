from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pinotctl.container import PinotAdmin, Pinotctl, command_of

OF_THE_CHART = ("-clusterName", "pinot", "-zkAddress", "z:2181", "-configFileName", "/var/pinot/x.conf")


@pytest.mark.parametrize(
    ("given", "command"),
    [
        # Roles with hooks get the arguments of the stock ones; a minion logs what it does.
        (("StartServer", *OF_THE_CHART), Pinotctl(("serve", "server", *OF_THE_CHART))),
        (("StartBroker", *OF_THE_CHART), Pinotctl(("serve", "broker", *OF_THE_CHART))),
        (("StartMinion", *OF_THE_CHART), Pinotctl(("-v", "serve", "minion", *OF_THE_CHART))),
        (("StartStockServer", *OF_THE_CHART), PinotAdmin(("StartServer", *OF_THE_CHART))),
        (("StartStockBroker", *OF_THE_CHART), PinotAdmin(("StartBroker", *OF_THE_CHART))),
        (("StartStockMinion", *OF_THE_CHART), PinotAdmin(("StartMinion", *OF_THE_CHART))),
        # Everything else is passed to Pinot; no argument shows its help.
        *(
            ((first, "-x", "a b"), PinotAdmin((first, "-x", "a b")))
            for first in ("StartController", "StartZookeeper", "AddTable", "QuickStart", "-help")
        ),
        ((), PinotAdmin(("-help",))),
        (("pinotctl", "queue", "waiting"), Pinotctl(("queue", "waiting"))),
    ],
)
def test_commands(given: tuple[str, ...], command: PinotAdmin | Pinotctl) -> None:
    assert command_of(list(given)) == command


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pinotctl.container", *arguments],
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
    program = "import sys, pinotctl.container; print('pinotctl.root' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_hosted_role_prints_its_help() -> None:
    done = run("StartServer", "-help")
    assert done.returncode == 0
    assert "pinotctl serve server [OPTIONS] [STARTSERVER ARGUMENTS]" in done.stdout
