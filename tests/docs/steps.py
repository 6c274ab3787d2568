"""Steps of hidden blocks: they bring the cluster into the state that the next visible block expects."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import psutil
import requests

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.config import BrokerConfig, ControllerConfig
from tests.support.pinotctl import pinotctl
from tests.support.wait import wait_for

__all__ = ["stop_role", "wait_consumed", "wait_healthy", "wait_rows"]

_PROBE_TIMEOUT_S = 10.0


def wait_rows(table: str, rows: int) -> None:
    """Wait until this number of rows of a table is queryable."""
    with _client() as client, BrokerClient(BrokerConfig(tuple(client.cluster.broker_urls()))) as broker:
        wait_for(lambda: _count(broker, table) == rows, f"{rows} rows of {table}")


def wait_consumed(table: str, *, but: int | None = None) -> None:
    """Wait until all partitions of a realtime table, except one, consume and have read their stream."""

    def done() -> bool:
        (status,) = _pinotctl("consumption", "status", table)
        rest = [each for each in status["partitions"] if each["partition"] != but]
        return all(each["state"] == "consuming" and each["lag"] == 0 for each in rest)

    wait_for(done, f"the consumption of {table}")


def wait_healthy(url: str) -> None:
    """Wait until a role reports that it is healthy."""
    wait_for(lambda: requests.get(url, timeout=_PROBE_TIMEOUT_S).text == "OK", url)


def stop_role(role: str) -> None:
    """Stop a role of the local cluster, and wait until the cluster has noticed it."""
    (found,) = (each for each in _pinotctl("cluster", "status", well=False) if each["role"] == role)
    process = psutil.Process(found["pid"])
    process.terminate()
    process.wait(_PROBE_TIMEOUT_S * 10)
    kind = role.partition("-")[0].capitalize()

    def gone() -> bool:
        return not [each for each in _pinotctl("instance", "list", "--live") if _is_live(each, kind)]

    wait_for(gone, f"the end of {role}")


def _is_live(instance: dict[str, Any], kind: str) -> bool:
    return bool(instance["live"]) and instance["instance"].startswith(f"{kind}_")


def _count(broker: BrokerClient, table: str) -> int:
    rows = broker.query(f"select count(*) from {table}").rows
    return int(rows[0][0]) if rows else 0


def _client() -> ControllerClient:
    return ControllerClient(ControllerConfig(os.environ["PINOT_CONTROLLER_URL"]))


def _pinotctl(*words: str, well: bool = True) -> Any:
    command = pinotctl(*words, "--output", "json")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not well, done.stderr
    return json.loads(done.stdout)
