"""Checks the quickstart's ports before anything is installed; needs only the standard library.

It accepts the quickstart's arguments. An existing cluster is not checked: it keeps its ports, and may be
running.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from controller_client.errors import PinotPluginError
from jvm_bridge.cluster_ports import ClusterPorts
from jvm_bridge.free_ports import check_free


def main() -> None:
    """Exit with 1 and an error message if a port is in use."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--dir", type=Path, default=Path(".work/quickstart"))
    parser.add_argument("--port-base", type=int)
    arguments, _ = parser.parse_known_args()
    if (arguments.dir / "cluster" / "cluster.json").exists():
        return
    base = arguments.port_base
    try:
        ports = ClusterPorts.usual() if base is None else ClusterPorts.from_base(base)
        check_free(ports.named(), option="--port-base")
    except PinotPluginError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
