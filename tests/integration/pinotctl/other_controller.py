"""A controller of another cluster, on the session's ZooKeeper."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.support.cluster import PinotCluster
from tests.support.java_options import QUICK_START
from tests.support.local_ports import free_base
from tests.support.processes import host_command
from tests.support.service import Program
from tests.support.wait import wait_for

__all__ = ["other_controller"]

_HOST = "127.0.0.1"


@contextmanager
def other_controller(pinot: PinotCluster, name: str, folder: Path) -> Iterator[str]:
    """Run the controller during a block; yield its URL.

    Args:
        pinot: The cluster whose ZooKeeper it uses.
        name: Name of its cluster.
        folder: Folder for its data and its log.
    """
    port = free_base()
    listener = "controller.access.protocols"
    properties = {
        "controller.helix.cluster.name": name,
        "controller.zk.str": pinot.zookeeper_address,
        "controller.host": _HOST,
        listener: "http",
        f"{listener}.http.host": _HOST,
        f"{listener}.http.port": str(port),
        "controller.data.dir": str(folder / "data"),
        "controller.local.temp.dir": str(folder / "temp"),
    }
    file = folder / "controller.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command, environment = host_command(Program.PINOT, folder)
    environment["JAVA_OPTS"] = f"-Xmx256m {QUICK_START} -Dpinot.admin.system.exit=false"
    url = f"http://{_HOST}:{port}"
    log = folder / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "StartController", "-configFileName", str(file)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:

        def ready() -> bool:
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
            return requests.get(f"{url}/health", timeout=5).text == "OK"

        wait_for(ready, "the other controller to be ready")
        yield url
    finally:
        process.kill()
        process.wait(60)
