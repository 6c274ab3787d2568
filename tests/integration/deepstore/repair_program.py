"""Repair a table, and kill the process after a given number of uploads."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.deepstore.audit import Auditor
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.repair import Repairer
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.servers import ServerAdmins
from controller_client.filestore.s3 import S3Store
from controller_client.zookeeper import PropertyStore


class FatalStore(S3Store):
    """Kills its process after some uploads."""

    def __init__(self, uploads: int) -> None:
        super().__init__({})
        self._left = uploads

    def upload(self, path: Path, uri: str) -> None:
        super().upload(path, uri)
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def main(controller: str, zookeeper: str, cluster: str, table: str, uploads: str) -> None:
    rate = RateLimit(1000)
    fatal = FatalStore(int(uploads))
    with (
        ControllerClient(ControllerConfig(controller)) as client,
        PropertyStore(zookeeper, cluster) as store,
        ServerAdmins(client, rate) as servers,
        tempfile.TemporaryDirectory() as folder,
    ):
        layout = StoreLayout.of(client)
        audit = Auditor(client, store, layout, servers, rate).audit(TableName(table))
        fetcher = SegmentFetcher(client, servers)
        repairer = Repairer(store, layout, fetcher, Path(folder), open_store=lambda _uri: fatal)
        for _ in repair_all(repairer, audit.faulty, parallel=1):
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
