"""The state file of a local cluster: its ports, and the processes that were started."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from controller_client.common.formats import Format, only_known
from controller_client.errors import ConfigError, DataError, SetupError
from jvm_bridge.cluster_ports import ClusterPorts, KafkaPorts
from jvm_bridge.local_cluster.processes import ProcessRecord
from jvm_bridge.local_cluster.settings import LocalClusterSettings

__all__ = ["CLUSTER_FORMAT", "ClusterState", "existing_state", "read_state", "state_to_start", "write_state"]

STATE_FILE = "cluster.json"
CLUSTER_FORMAT = Format("the state file of a local cluster")


@dataclass(frozen=True)
class ClusterState:
    """The recorded state of a cluster.

    Attributes:
        ports: Its ports; they belong to its data, as Helix identifies instances by them.
        version: The Pinot version that last wrote the data.
        processes: The processes that were started, by role; they may have ended since.
        settings: Its settings besides its ports.
    """

    ports: ClusterPorts
    version: str
    processes: Mapping[str, ProcessRecord] = field(default_factory=dict)
    settings: LocalClusterSettings = field(default_factory=LocalClusterSettings)


def read_state(folder: Path) -> ClusterState | None:
    """Read the state file; returns None if there is none.

    Raises:
        SetupError: The file is invalid.
        FormatVersionError: A later release wrote it.
    """
    path = folder / STATE_FILE
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        CLUSTER_FORMAT.check(document, str(path))
        return ClusterState(
            ports=ClusterPorts.from_json(document["ports"]),
            version=document["version"],
            processes={
                role: ProcessRecord(**only_known(ProcessRecord, record))
                for role, record in document["processes"].items()
            },
            settings=LocalClusterSettings(**only_known(LocalClusterSettings, document.get("settings", {}))),
        )
    except FileNotFoundError:
        return None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        DataError,
    ) as error:
        raise SetupError(
            f"the state file of the local cluster cannot be read: {error!r}",
            where=str(path),
            remedy="delete the file, and start the cluster with its previous ports",
        ) from error


def existing_state(folder: Path) -> ClusterState:
    """Read the state of an existing cluster.

    Raises:
        SetupError: There is no cluster in the folder, or its state file is invalid.
    """
    state = read_state(folder)
    if state is None:
        raise SetupError(
            "there is no local cluster in this folder",
            where=str(folder),
            remedy="start one with 'pinotctl cluster up', or set its folder with --dir",
        )
    return state


def state_to_start(
    folder: Path,
    ports: ClusterPorts | None,
    kafka: KafkaPorts | None,
    *,
    hosted: bool = False,
    properties: Mapping[str, str] | None = None,
    minion_heap_mb: int | None = None,
) -> ClusterState:
    """Return the state of the cluster to start: the existing one, or a new one.

    Args:
        folder: The cluster's folder.
        ports: The requested ports, without Kafka's; None for the existing or the usual ones.
        kafka: Kafka's ports; None for no change.
        hosted: Host broker and servers in Python; False for no change.
        properties: Additional properties of its roles; None for no change.
        minion_heap_mb: Maximum Java heap of its minion, MiB; None for no change.

    Raises:
        ConfigError: The existing cluster has other ports.
        SetupError: Its state file is invalid.
    """
    state = read_state(folder)
    before = state.settings if state else LocalClusterSettings()
    settings = LocalClusterSettings(
        hosted or before.hosted,
        before.properties if properties is None else properties,
        minion_heap_mb or before.minion_heap_mb,
    )
    if state is None:
        return ClusterState(
            replace(ports or ClusterPorts.usual(), kafka=kafka), version="", settings=settings
        )
    present = state.ports
    if (ports and ports != replace(present, kafka=None)) or (kafka and present.kafka not in (None, kafka)):
        raise ConfigError(
            "the cluster in this folder has other ports or another number of servers",
            expected=", ".join(f"{name} {port}" for name, port in present.named().items()),
            where=str(folder / STATE_FILE),
            remedy="omit the options, use another --dir, or run 'pinotctl cluster down --purge' first: the "
            "data refers to the servers by their ports",
        )
    return replace(state, ports=replace(present, kafka=present.kafka or kafka), settings=settings)


def write_state(folder: Path, state: ClusterState) -> None:
    """Replace the state file atomically."""
    temporary = folder / f"{STATE_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(CLUSTER_FORMAT.stamp_json(asdict(state)), indent=2))
    temporary.replace(folder / STATE_FILE)
