"""The services of a test session, each started when it is first requested."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path

from tests.support import engine
from tests.support.cluster import PinotCluster
from tests.support.containers import ContainerBackend
from tests.support.faulty_s3 import FaultyS3
from tests.support.kafka import Kafka, kafka_bootstrap, kafka_service
from tests.support.local_ports import fixed_ports
from tests.support.pinot_services import PinotLayout
from tests.support.processes import ProcessBackend
from tests.support.s3 import S3Access, s3_access, s3_service
from tests.support.s3_program import S3UnavailableError, s3_program
from tests.support.service import Backend, wait_ready
from tests.support.slot import Slot, take_slot

_READY_TIMEOUT_S = 300.0


def chosen_backend() -> tuple[str, str]:
    """Return the backend's name and why it was chosen; the only place that decides.

    ``PINOT_TEST_BACKEND`` (``containers`` or ``processes``) overrides what the machine has.
    """
    wanted = os.environ.get("PINOT_TEST_BACKEND", "")
    if wanted in {"containers", "processes"}:
        return wanted, "PINOT_TEST_BACKEND says so"
    if wanted:
        raise ValueError(f"PINOT_TEST_BACKEND is {wanted!r}; expected containers or processes")
    reason = engine.why_no_engine()
    return ("processes", reason) if reason else ("containers", "a container engine answers")


class Session:
    """Backend, S3 server, Kafka and Pinot of one test session.

    Args:
        folder: Folder for the session's files on this machine.
        zookeeper_heap_mb: Java heap of ZooKeeper, which keeps all records in memory.
        s3_deep_store: Whether the deep store is on S3, if there is an S3 server; otherwise it is a folder.
        faulty_store: Whether all services reach the S3 server through `store`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        zookeeper_heap_mb: int = 128,
        s3_deep_store: bool = True,
        faulty_store: bool = False,
    ) -> None:
        self._folder = folder
        self._s3_deep_store = s3_deep_store
        self._faulty_store = faulty_store
        self._zookeeper_heap_mb = zookeeper_heap_mb
        self._at_end = ExitStack()

    @cached_property
    def s3(self) -> S3Access:
        """The S3 server.

        Raises:
            S3UnavailableError: It can be neither found nor built.
        """
        s3_program()
        wait_ready(self._backend.launch(s3_service(self._slot)), _READY_TIMEOUT_S)
        return s3_access(self._slot)

    @cached_property
    def store(self) -> FaultyS3:
        """The proxy in front of the S3 server, for faults that all roles see.

        Raises:
            S3UnavailableError: As for `s3`.
        """
        return self._at_end.enter_context(FaultyS3(self.s3, *fixed_ports(1)))

    @cached_property
    def kafka(self) -> Kafka:
        """The Kafka node."""
        node = self._backend.launch(kafka_service(self._slot))
        wait_ready(node, _READY_TIMEOUT_S)
        return Kafka(kafka_bootstrap(self._slot), self._folder, node)

    @cached_property
    def pinot(self) -> PinotCluster:
        """The Pinot cluster."""
        s3: S3Access | None = None
        if self._s3_deep_store:
            with suppress(S3UnavailableError):
                s3 = self._s3_access()
        folder = self._folder / "deep-store"
        folder.mkdir()
        cluster = PinotCluster(
            self._backend, self._host, PinotLayout(self._slot, s3, folder, self._zookeeper_heap_mb)
        )
        self._at_end.callback(cluster.stop_all)
        cluster.start_all()
        return cluster

    def s3_environment(self) -> dict[str, str]:
        """Return the variables with which boto3 finds the S3 server; none if there is no server."""
        try:
            access = self._s3_access()
        except S3UnavailableError:
            return {}
        return {
            "AWS_ACCESS_KEY_ID": access.access_key,
            "AWS_SECRET_ACCESS_KEY": access.secret_key,
            "AWS_DEFAULT_REGION": access.region,
            "AWS_ENDPOINT_URL_S3": access.endpoint,
        }

    def close(self) -> None:
        """Stop everything that was started."""
        self._at_end.close()

    def _s3_access(self) -> S3Access:
        return self.store.access if self._faulty_store else self.s3

    @cached_property
    def _slot(self) -> Slot:
        if chosen_backend()[0] == "containers":
            engine.sweep()
        slot = take_slot()
        self._at_end.callback(slot.release)
        return slot

    @cached_property
    def _backend(self) -> Backend:
        if chosen_backend()[0] != "containers":
            return self._host
        backend = ContainerBackend()
        self._at_end.callback(engine.client().close)
        self._at_end.callback(backend.close)
        return backend

    @cached_property
    def _host(self) -> Backend:
        host = ProcessBackend(self._folder, self._slot.processes)
        self._at_end.callback(host.close)
        return host
