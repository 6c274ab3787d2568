"""Repairs in processes on other machines, each with a part of the segments."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.common.folders import scratch_folder
from controller_client.config import ControllerConfig
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import Judgement
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.repair import Repaired, Repairer, RepairOutcome
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import PinotPluginError
from controller_client.rest.capabilities import Capability
from controller_client.rest.client import RestClient
from controller_client.segment_tar import TarLimits
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["RepairPart"]


@dataclass(frozen=True)
class RepairPart:
    """The function that a parallel engine runs to repair a part of an audit's segments; it is pickled.

    It carries the controller's credentials; the store's credentials are those that boto3 finds on the
    machine.

    Attributes:
        config: How to reach the controller.
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Name of the cluster in Helix.
        layout: The deep store.
        rate: Requests per second for each part.
        parallel: Segments at a time for each part.
        work_dir: Folder for the tars in progress; None: the system's temporary folder.
        limits: Limits for reading a tar.
        accept_agreeing: Also accept an unverified copy if two servers have the same rows.
        access: How the machine authenticates to ZooKeeper; None: as its environment sets it.
    """

    config: ControllerConfig
    zookeeper_address: str
    cluster_name: str
    layout: StoreLayout
    rate: float
    parallel: int
    work_dir: Path | None = None
    limits: TarLimits = field(default_factory=TarLimits)
    accept_agreeing: bool = False
    access: ZooKeeperAccess | None = None

    def __call__(self, judged: Iterable[Judgement]) -> list[Repaired]:
        """Repair segments; called in a process of the engine (with Spark, a Python worker of an executor).

        Failures are part of the result, since an error would end the other parts too.
        """
        left = {(judgement.record.table, judgement.record.segment): judgement for judgement in judged}
        done = []
        try:
            for repair in self._repair(list(left.values())):
                del left[repair.table, repair.segment]
                done.append(repair)
        except (PinotPluginError, OSError, ImportError) as error:
            text = error.message if isinstance(error, PinotPluginError) else str(error)
            message = f"on {socket.gethostname()}: {text}"
            done += [Repaired(*name, RepairOutcome.FAILED, message=message) for name in left]
        return done

    def _repair(self, judged: list[Judgement]) -> Iterator[Repaired]:
        with (
            RestClient(self.config) as client,
            PropertyStore(self.zookeeper_address, self.cluster_name, access=self.access) as store,
            ServerAdmins(client, RateLimit(self.rate)) as servers,
            scratch_folder("deep-store-repair-", self.work_dir) as folder,
        ):
            fetcher = SegmentFetcher(
                client, servers, limits=self.limits, accept_agreeing=self.accept_agreeing
            )
            folder_sizes = client.cluster.capabilities().has(Capability.FOLDER_SIZES)
            repairer = Repairer(store, self.layout, fetcher, folder, folder_sizes=folder_sizes)
            yield from repair_all(repairer, judged, parallel=self.parallel)
