"""The hook ``commit-upload``."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from controller_client.clock import SystemClock
from controller_client.common.redaction import mask_text
from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import ROUND_BOUND_S, Dependents, HostedRoleView, HostedServerView, TickingThread
from server_hooks.commit_upload.backlog import Backlog
from server_hooks.commit_upload.extension_point import install_extension
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.late_uploads import LateUploads
from server_hooks.commit_upload.metrics import OutcomeCounts, publish_uploads
from server_hooks.commit_upload.pinot_store import PinotStore
from server_hooks.commit_upload.settings import STORE_KEY, CommitUploadSettings
from server_hooks.commit_upload.uploads import CommitUploads

__all__ = ["NAME", "CommitUploadHook"]

logger = logging.getLogger(__name__)

NAME = "commit-upload"
_TICK_S = 1.0
_LATE_THREADS = 2


class CommitUploadHook:
    """The hook of one server, see :class:`~jvm_bridge.role_host.ServerHook`.

    It does nothing if the server has no segment store.
    """

    def __init__(self) -> None:
        self._uploads: CommitUploads | None = None
        self._late_pool = ThreadPoolExecutor(_LATE_THREADS, thread_name_prefix="commit-upload-late")
        self._thread: TickingThread | None = None
        self._counts = OutcomeCounts()

    def before_start(self, server: HostedServerView) -> None:
        """Intercept the uploads of commits before Pinot loads the class that does them."""
        settings = CommitUploadSettings.of(server.configuration)
        if settings is None:
            logger.info("%s: %s is not set, so commits do not upload segments", NAME, STORE_KEY)
            return
        store, kept = PinotStore(), KeptTars(settings.folder, settings.store_uri)
        backlog = Backlog(SystemClock(), settings.limits, kept.free_bytes)
        late = LateUploads(
            backlog,
            kept,
            store,
            PropertyStore(server.zookeeper_address, server.cluster_name),
            self._counts,
            final_base_uri=settings.final_base_uri,
            pool=self._late_pool,
            threads=_LATE_THREADS,
            wake=self._wake,
        )
        late.resume()
        loop = server.monitoring.loop(NAME, ROUND_BOUND_S)
        self._thread = TickingThread(
            NAME,
            late.step,
            partial(server.errors.guard, NAME, "while working on its backlog"),
            pause_s=_TICK_S,
            on_round=lambda well: loop.round_ended(well=well),
            at_end=loop.ended,
        )
        self._uploads = CommitUploads(
            store, kept, backlog, self._counts, wait_s=settings.wait_s, wake=self._wake
        )
        publish_uploads(server.monitoring, self._counts, backlog)
        upload = partial(_guarded, server, self._uploads)
        install_extension(server.starter.getConfig(), settings.store_uri, upload)

    def dependents(self, role: HostedRoleView) -> Dependents:
        """Return the segment store, if there is one; see :class:`~jvm_bridge.role_host.KnowsDependents`."""
        store_uri = role.configuration.get(STORE_KEY)
        return Dependents(
            (f"the segment store, {mask_text(store_uri)} ({STORE_KEY})",) if store_uri else (),
            way_out="select the hooks to run with `--hook` and leave this one out: commits then wait for the "
            "store as long as Pinot does",
            later=f"Once {STORE_KEY} is set, the hook is needed and the next start fails.",
        )

    def started(self, server: HostedServerView) -> None:
        """Start to work on the backlog."""
        if self._thread is not None:
            self._thread.start()

    def stopping(self, server: HostedServerView) -> None:
        """Stop starting uploads; the next start of the server resumes the backlog."""
        if self._uploads and self._thread:
            self._uploads.close()
            self._thread.stop(timeout_s=2 * _TICK_S)
            self._late_pool.shutdown(wait=False, cancel_futures=True)

    def _wake(self) -> None:
        if self._thread is not None:
            self._thread.wake()


def _guarded(
    server: HostedServerView, uploads: CommitUploads, file: Path, table: str, segment: str, uri: str
) -> bool:
    """Upload a tar; to the commit, any error in here is a failed upload."""
    with server.errors.guard(NAME, f"while uploading {segment}"):
        return uploads.upload(file, table, segment, uri)
    return False
