"""The services of a test session, each started when it is first requested, by whichever process requests it.

The processes of pytest-xdist share one session: they agree by locks in its folder, and whoever comes second
finds the service that runs. Only the process that owns the session ends it (`tests.support.shared_session`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path

from tests.support import engine
from tests.support.cluster import PinotCluster
from tests.support.containers import ContainerBackend
from tests.support.file_lock import file_lock
from tests.support.kafka import Kafka, kafka_bootstrap, kafka_service
from tests.support.pinot_services import PinotLayout
from tests.support.processes import ProcessBackend
from tests.support.s3 import S3Access, s3_access, s3_service
from tests.support.s3_program import S3UnavailableError, s3_program
from tests.support.service import Backend, wait_ready
from tests.support.slot import Slot, no_slot, slots

__all__ = ["Session", "chosen_backend", "own_session"]

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


@contextmanager
def own_session(*, zookeeper_heap_mb: int = 128, s3_deep_store: bool = True) -> Iterator[Session]:
    """Open a session that nobody else uses, with a slot of its own; arguments as of `Session`.

    Raises:
        RuntimeError: No slot is free.
    """
    for slot in slots():
        lock = None if slot.kept.exists() else slot.lock()
        if lock is None:
            continue
        with closing(lock):
            session = Session(slot, zookeeper_heap_mb=zookeeper_heap_mb, s3_deep_store=s3_deep_store)
            if session.clear():
                try:
                    yield session
                finally:
                    session.close()
                    session.remove_services()
                return
    raise no_slot()


class Session:
    """Backend, S3 server, Kafka and Pinot of one test session.

    Args:
        slot: Its ports and its folder.
        zookeeper_heap_mb: Java heap of ZooKeeper, which keeps all records in memory.
        s3_deep_store: Whether the deep store is on S3, if there is an S3 server; otherwise it is a folder.
    """

    def __init__(self, slot: Slot, *, zookeeper_heap_mb: int = 128, s3_deep_store: bool = True) -> None:
        self._slot = slot
        self._s3_deep_store = s3_deep_store
        self._zookeeper_heap_mb = zookeeper_heap_mb
        self._at_end = ExitStack()

    @property
    def folder(self) -> Path:
        """Folder with a folder for each service."""
        return self._slot.services

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
    def kafka(self) -> Kafka:
        """The Kafka node."""
        node = self._backend.launch(kafka_service(self._slot))
        wait_ready(node, _READY_TIMEOUT_S)
        return Kafka(kafka_bootstrap(self._slot), self.folder, node)

    @cached_property
    def pinot(self) -> PinotCluster:
        """The Pinot cluster."""
        s3: S3Access | None = None
        if self._s3_deep_store:
            with suppress(S3UnavailableError):
                s3 = self.s3
        folder = self.folder / "deep-store"
        folder.mkdir(parents=True, exist_ok=True)
        layout = PinotLayout(self._slot, s3, folder, self._zookeeper_heap_mb)
        cluster = PinotCluster(self._backend, self._host, layout)
        self._at_end.callback(cluster.close)
        with file_lock(self.folder / "pinot.lock"):
            cluster.start_all()
        return cluster

    def s3_environment(self) -> dict[str, str]:
        """Return the variables with which boto3 finds the S3 server; none if there is no server."""
        try:
            access = self.s3
        except S3UnavailableError:
            return {}
        return {
            "AWS_ACCESS_KEY_ID": access.access_key,
            "AWS_SECRET_ACCESS_KEY": access.secret_key,
            "AWS_DEFAULT_REGION": access.region,
            "AWS_ENDPOINT_URL_S3": access.endpoint,
        }

    def close(self) -> None:
        """Close what this process has opened; the services run on."""
        self._at_end.close()

    def clear(self) -> bool:
        """Remove what a killed session has left in the slot; return whether its ports are free now."""
        self.remove_services()
        # Another user's session has its locks in another place, and other programs have none.
        return self._slot.is_free()

    def remove_services(self) -> None:
        """End all services, also those that another process has started, and delete their disks."""
        self._host.close()
        if chosen_backend()[0] == "containers":
            self._backend.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_services(self, names: Iterable[str]) -> None:
        """End services that run as processes of this machine also next to containers, if they run."""
        for name in names:
            self._host.end(name)

    @cached_property
    def _backend(self) -> Backend:
        if chosen_backend()[0] != "containers":
            return self._host
        self._at_end.callback(engine.client().close)
        return ContainerBackend(self._slot)

    @cached_property
    def _host(self) -> ProcessBackend:
        return ProcessBackend(self.folder)
