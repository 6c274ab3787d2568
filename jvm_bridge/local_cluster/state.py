"""The state file of a local cluster: which ports it has and which processes were started."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from controller_client.errors import SetupError
from jvm_bridge.cluster_ports import ClusterPorts
from jvm_bridge.local_cluster.processes import ProcessRecord

__all__ = ["ClusterState", "read_state", "write_state"]

STATE_FILE = "cluster.json"
_FORMAT = 1


@dataclass(frozen=True)
class ClusterState:
    """What is written down about a cluster.

    Attributes:
        ports: Its ports; they belong to its data, since Helix knows the instances by them.
        version: Pinot's version that wrote the data last.
        processes: The processes that were started, by role; whether they still run must be looked at.
    """

    ports: ClusterPorts
    version: str
    processes: Mapping[str, ProcessRecord] = field(default_factory=dict)


def read_state(folder: Path) -> ClusterState | None:
    """Read the state file; None when there is none.

    Raises:
        SetupError: It cannot be understood.
    """
    path = folder / STATE_FILE
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        if document["format"] != _FORMAT:
            raise ValueError(f"format {document['format']}")
        return ClusterState(
            ports=ClusterPorts.from_json(document["ports"]),
            version=document["version"],
            processes={role: ProcessRecord(**record) for role, record in document["processes"].items()},
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"The state file of the local cluster cannot be understood: {error!r}",
            where=str(path),
            remedy="If another version of pinot-plugins wrote it, use that one; else delete the file.",
        ) from error


def write_state(folder: Path, state: ClusterState) -> None:
    """Replace the state file in one step."""
    temporary = folder / f"{STATE_FILE}.{os.getpid()}"
    temporary.write_text(json.dumps({"format": _FORMAT, **asdict(state)}, indent=2))
    temporary.replace(folder / STATE_FILE)
