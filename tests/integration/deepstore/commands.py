"""Run repairs, and fetch or damage servers' copies of segments."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.servers import ServerAdmins
from tests.integration.deepstore.conftest import Run
from tests.integration.deepstore.peer_table import PeerTable
from tests.support.cluster import PinotCluster

__all__ = ["damage_replica", "repaired", "replica_tar"]


def repaired(run: Run, table: PeerTable, *options: str, code: int = 0) -> dict[str, dict[str, object]]:
    """Repair a table; return the report of each segment."""
    answer = run("deepstore", "repair", table.name, "--yes", "--output", "json", *options, code=code)
    return {each["segment"]: each for each in json.loads(answer.stdout)}


def replica_tar(client: ControllerClient, server: str, table: TableName, segment: str, folder: Path) -> Path:
    """Fetch a server's copy unchanged, into a folder with the table's name."""
    path = folder / table / f"{segment}.tar.gz"
    path.parent.mkdir(exist_ok=True)
    with ServerAdmins(client, RateLimit(1000)) as servers:
        servers.download(server, table, segment, path, 1 << 30)
    return path


def damage_replica(pinot: PinotCluster, role: str, tar_path: Path) -> None:
    """Flip a bit in a segment's rows on a server's disk; its tar is from :func:`replica_tar`."""
    table, segment = tar_path.parent.name, tar_path.name.removesuffix(".tar.gz")
    with tarfile.open(tar_path) as tar:
        file = tar.extractfile(f"{segment}/v3/columns.psf")
        assert file is not None
        rows = bytearray(file.read())
    rows[len(rows) // 2] ^= 4
    pinot.put_file(role, f"index/{table}/{segment}/v3/columns.psf", bytes(rows))
