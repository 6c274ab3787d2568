"""The hook ``commit-upload``."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

from controller_client.clock import SystemClock
from controller_client.errors import ConfigError
from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import HostedServerView
from server_hooks.commit_upload.registering import LateRegistrar
from server_hooks.commit_upload.uploader_0_11 import copy_by_pinot, delete_by_pinot, install
from server_hooks.commit_upload.uploads import CommitUploads, Outcome

__all__ = ["NAME", "CommitUploadHook"]

logger = logging.getLogger(__name__)

NAME = "commit-upload"
_STORE_KEY = "pinot.server.instance.segment.store.uri"
_DATA_KEY = "pinot.server.instance.dataDir"
_WAIT_KEY = "pinotPlugins.commitUpload.waitMs"
_DEFAULT_WAIT_MS = "5000"


class CommitUploadHook:
    """One a server, see :class:`~jvm_bridge.role_host.ServerHook`; without a store it does nothing."""

    def __init__(self) -> None:
        self._uploads: CommitUploads | None = None
        self._registrar: LateRegistrar | None = None

    def before_start(self, server: HostedServerView) -> None:
        """Take the uploads of commits over, before Pinot loads the class that does them."""
        store_uri = server.configuration.get(_STORE_KEY)
        if not store_uri:
            logger.info("%s: %s is not set, so commits upload nothing", NAME, _STORE_KEY)
            return
        store = PropertyStore(server.zookeeper_address, server.cluster_name)
        self._registrar = LateRegistrar(store, delete_by_pinot, SystemClock())
        self._uploads = CommitUploads(
            copy_by_pinot,
            self._registrar.add,
            store_uri=store_uri,
            folder=Path(server.configuration[_DATA_KEY]) / "pythonCommitUploads",
            wait_s=_wait_s(server.configuration.get(_WAIT_KEY, _DEFAULT_WAIT_MS)),
        )
        install(partial(_guarded, server, self._uploads))

    def started(self, server: HostedServerView) -> None:
        """Publish the counters beside Pinot's metrics."""
        from jvm_bridge.role_host.metrics import gauge

        if self._uploads is None:
            return
        metrics = server.starter.getServerInstance().getServerMetrics()
        for outcome in Outcome:
            gauge(metrics, f"pythonHook.{NAME}.{outcome}", partial(self._uploads.count, outcome))

    def stopping(self, server: HostedServerView) -> None:
        """Start no further upload."""
        if self._uploads and self._registrar:
            self._uploads.close()
            self._registrar.close()


def _guarded(
    server: HostedServerView, uploads: CommitUploads, file: Path, table: str, segment: str
) -> str | None:
    """Upload; whatever goes wrong in here is as a failed upload to the commit."""
    with server.errors.guard(NAME, f"for {segment}"):
        return uploads.upload(file, table, segment)
    return None


def _wait_s(text: str) -> float:
    try:
        wait_ms = int(text)
    except ValueError:
        wait_ms = -1
    if wait_ms < 0:
        raise ConfigError(f"{_WAIT_KEY} is {text!r}", expected="milliseconds, e.g. 5000")
    return wait_ms / 1000
