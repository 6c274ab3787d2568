from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from controller_client.errors import SetupError
from jvm_bridge.free_ports import check_free
from tests.support.local_ports import fixed_ports

HOST = "127.0.0.1"


def test_a_port_in_use_is_reported_with_its_holder() -> None:
    (other,) = fixed_ports(1)
    with socket.create_server((HOST, 0)) as listener:
        taken = listener.getsockname()[1]
        with pytest.raises(SetupError, match=rf"{taken} \(controller\): pid {os.getpid()}") as caught:
            check_free({"controller": taken, "broker": other}, option="--port-base")
        assert str(other) not in caught.value.message
        assert "other ports with --port-base" in str(caught.value)
    check_free({"broker": other}, option="--port-base")


def check_ports(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the quickstart's check in a Python without any packages."""
    script = Path(__file__).parents[3] / "scripts" / "check_ports.py"
    command = [sys.executable, "-I", "-S", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_quickstart_reports_a_port_in_use_before_it_installs_anything(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as listener:
        # The broker's port is the third from the base.
        port = listener.getsockname()[1]
        arguments = ("--port-base", str(port - 2), "--dir", str(tmp_path), "--unknown")
        done = check_ports(*arguments)
        assert done.returncode == 1
        assert f"{port} (broker): pid {os.getpid()}" in done.stderr
        assert "--port-base" in done.stderr
        assert "Traceback" not in done.stderr
        # An existing cluster may be using them.
        (tmp_path / "cluster").mkdir()
        (tmp_path / "cluster" / "cluster.json").write_text("{}")
        assert check_ports(*arguments).returncode == 0


def test_the_quickstart_explains_an_invalid_port_base(tmp_path: Path) -> None:
    done = check_ports("--port-base", "65534", "--dir", str(tmp_path))
    assert (done.returncode, "would be 65536" in done.stderr) == (1, True)
