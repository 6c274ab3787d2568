"""The state file of a local cluster: which ports it has and which processes were started."""

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
from jvm_bridge.local_cluster.settings import Settings

__all__ = ["CLUSTER_FORMAT", "ClusterState", "existing_state", "read_state", "state_to_start", "write_state"]

STATE_FILE = "cluster.json"
CLUSTER_FORMAT = Format("the state file of a local cluster")


@dataclass(frozen=True)
class ClusterState:
    """What is written down about a cluster.

    Attributes:
        ports: Its ports; they belong to its data, since Helix knows the instances by them.
        version: Pinot's version that wrote the data last.
        processes: The processes that were started, by role; whether they still run must be looked at.
        settings: What it has beside its ports.
    """

    ports: ClusterPorts
    version: str
    processes: Mapping[str, ProcessRecord] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)


def read_state(folder: Path) -> ClusterState | None:
    """Read the state file; None when there is none.

    Raises:
        SetupError: It cannot be understood.
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
            settings=Settings(**only_known(Settings, document.get("settings", {}))),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, DataError) as error:
        raise SetupError(
            f"The state file of the local cluster cannot be read: {error!r}",
            where=str(path),
            remedy="Delete the file, and start the cluster with the ports that it had.",
        ) from error


def existing_state(folder: Path) -> ClusterState:
    """Read the state of a cluster that has to be there.

    Raises:
        SetupError: There is no cluster in the folder, or its state cannot be understood.
    """
    state = read_state(folder)
    if state is None:
        raise SetupError(
            "There is no local cluster in this folder",
            where=str(folder),
            remedy="Start one with 'pinotctl cluster up', or name its folder with --dir.",
        )
    return state


def state_to_start(
    folder: Path,
    ports: ClusterPorts | None,
    kafka: KafkaPorts | None,
    *,
    hosted: bool = False,
    properties: Mapping[str, str] | None = None,
) -> ClusterState:
    """Return the state of the cluster to start: as it is, or of a new one.

    Args:
        folder: The cluster's folder.
        ports: The ports asked for, without Kafka's; None: those it has, or the usual ones.
        kafka: Kafka's ports; None: as it is.
        hosted: Host broker and servers in Python; False: as it is.
        properties: Further properties of its roles; None: as they are.

    Raises:
        ConfigError: The cluster that is there has other ports.
        SetupError: Its state cannot be understood.
    """
    state = read_state(folder)
    before = state.settings if state else Settings()
    settings = Settings(hosted or before.hosted, before.properties if properties is None else properties)
    if state is None:
        return ClusterState(
            replace(ports or ClusterPorts.usual(), kafka=kafka), version="", settings=settings
        )
    present = state.ports
    if (ports and ports != replace(present, kafka=None)) or (kafka and present.kafka not in (None, kafka)):
        raise ConfigError(
            "The cluster in this folder has other ports or another number of servers",
            expected=", ".join(f"{name} {port}" for name, port in present.named().items()),
            where=str(folder / STATE_FILE),
            remedy="Leave the options out, use another --dir, or run 'pinotctl cluster down --purge' first: "
            "the data knows its servers by their ports.",
        )
    return replace(state, ports=replace(present, kafka=present.kafka or kafka), settings=settings)


def write_state(folder: Path, state: ClusterState) -> None:
    """Replace the state file in one step."""
    temporary = folder / f"{STATE_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(CLUSTER_FORMAT.stamp_json(asdict(state)), indent=2))
    temporary.replace(folder / STATE_FILE)
