"""A broker hosted in Python, next to the cluster's stock broker and with the same JVM options."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from benchmarks.local_cluster import BenchmarkCluster
from controller_client.broker.client import BrokerClient
from jvm_bridge.local_cluster import HOST
from jvm_bridge.local_cluster.roles import CLUSTER_NAME
from tests.support.java_options import QUICK_START
from tests.support.pinotctl import pinotctl

_TIMEOUT_S = 120.0
_POLL_S = 0.1


@contextmanager
def hosted_broker(
    cluster: BenchmarkCluster, folder: Path, port: int, java_opts: str
) -> Iterator[BrokerClient]:
    """Start a broker with the hook ``upsert`` and yield a client of it; stop the broker at the end.

    Args:
        cluster: The cluster that it joins.
        folder: Its folder, created here.
        port: The first of two ports.
        java_opts: Options of its JVM, in addition to those of the cluster's roles.
    """
    folder.mkdir()
    listener = "pinot.broker.client.access.protocols"
    properties = {
        "pinot.cluster.name": CLUSTER_NAME,
        "pinot.zk.server": cluster.local.zookeeper_address,
        "pinot.broker.hostname": HOST,
        listener: "http",
        f"{listener}.http.host": HOST,
        f"{listener}.http.port": str(port),
        "pinot.multistage.engine.enabled": "true",
        "pinot.query.runner.hostname": HOST,
        "pinot.query.runner.port": str(port + 1),
        "pinot.broker.delayShutdownTimeMs": "500",
    }
    config, url = folder / "broker.conf", f"http://{HOST}:{port}"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = pinotctl("serve", "broker", "-configFileName", str(config))
    environment = {**os.environ, "JAVA_OPTS": f"-Xmx192m {QUICK_START} {java_opts}"}
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + _TIMEOUT_S
        while not _is_healthy(url):
            assert process.poll() is None, f"the broker exited: see {folder / 'output.log'}"
            assert time.monotonic() < deadline, f"the broker is not healthy yet: see {folder / 'output.log'}"
            time.sleep(_POLL_S)
        with BrokerClient([url]) as broker:
            yield broker
    finally:
        process.terminate()
        process.wait()


def _is_healthy(url: str) -> bool:
    try:
        return requests.get(f"{url}/health", timeout=5).text == "OK"
    except requests.ConnectionError:
        return False
