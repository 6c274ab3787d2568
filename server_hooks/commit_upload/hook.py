"""The hook ``commit-upload``."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

from controller_client.clock import SystemClock
from controller_client.common.redaction import mask_text
from controller_client.errors import ConfigError
from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import Dependents, HostedRoleView, HostedServerView
from server_hooks.commit_upload.pinot_store import PinotStore
from server_hooks.commit_upload.place import take_place
from server_hooks.commit_upload.registering import LateRegistrar
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
        store = PinotStore()
        records = PropertyStore(server.zookeeper_address, server.cluster_name)
        self._registrar = LateRegistrar(records, store, SystemClock())
        self._uploads = CommitUploads(
            store,
            self._registrar.add,
            store_uri=store_uri,
            folder=Path(server.configuration[_DATA_KEY]) / "pythonCommitUploads",
            wait_s=_wait_s(server.configuration.get(_WAIT_KEY, _DEFAULT_WAIT_MS)),
        )
        take_place(server.starter.getConfig(), store_uri, partial(_guarded, server, self._uploads))

    def dependents(self, role: HostedRoleView) -> Dependents:
        """The store, if there is one; see :class:`~jvm_bridge.role_host.KnowsDependents`."""
        store_uri = role.configuration.get(_STORE_KEY)
        return Dependents(
            (f"the segment store, {mask_text(store_uri)} ({_STORE_KEY})",) if store_uri else (),
            way_out="name the hooks that are to run (`--hook`), without this one: commits then wait for the "
            "store as long as Pinot does",
            later=f"It is needed once {_STORE_KEY} is set: the next start is refused then.",
        )

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
    server: HostedServerView, uploads: CommitUploads, file: Path, table: str, segment: str, uri: str
) -> bool:
    """Upload; whatever goes wrong in here is as a failed upload to the commit."""
    with server.errors.guard(NAME, f"for {segment}"):
        return uploads.upload(file, table, segment, uri)
    return False


def _wait_s(text: str) -> float:
    try:
        wait_ms = int(text)
    except ValueError:
        wait_ms = -1
    if wait_ms < 0:
        raise ConfigError(f"{_WAIT_KEY} is {text!r}", expected="milliseconds, e.g. 5000")
    return wait_ms / 1000
