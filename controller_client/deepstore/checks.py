"""What is required before a realtime table can commit without the deep store. Pure: no IO."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableType
from controller_client.common.text import counted_text
from controller_client.deepstore.policy import StorePolicy
from controller_client.filestore import scheme_of
from controller_client.models import TableConfig
from controller_client.rest.capabilities import PinotVersion

__all__ = [
    "Check",
    "CheckResult",
    "check_controller",
    "check_fetching",
    "check_server",
    "check_table",
]

# Pinot 0.11 reads them, 1.5 does not. By the second, a commit ends with the metadata, without the segment.
_COMMIT_FLAGS = (
    "pinot.server.instance.enable.split.commit",
    "pinot.server.instance.enable.commitend.metadata",
)
_STORE_URI = "pinot.server.instance.segment.store.uri"
_DATA_DIR = "pinotPlugins.commitUpload.dataDir"
_RETRY = "controller.realtime.segment.deepStoreUploadRetryEnabled"
_PROTOCOLS = "pinot.server.segment.fetcher.protocols"
_FILE_SYSTEM = "pinot.server.storage.factory.class"
_WAIT_BEFORE_1_0_S = 10
_WAIT_S = 300


class CheckResult(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    """As things are, the table would not commit, or would lose copies that it needs."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        where: The table, ``controller``, or a server's name.
        verdict: Its outcome.
        text: What was found, and what to do.
    """

    where: str
    verdict: CheckResult
    text: str


def check_table(config: TableConfig, policy: StorePolicy, servers: int) -> list[Check]:
    """Check a table's config.

    Args:
        config: The table's config.
        policy: Where copies of its segments must be.
        servers: Number of servers with that of the table's tags that the fewest servers have.
    """
    name = config.name_with_type
    if config.table_type is not TableType.REALTIME:
        return [Check(name, CheckResult.WRONG, "only servers of a REALTIME table commit segments")]
    replicas = config.replicas
    if policy is StorePolicy.STORE:
        if replicas > 1:
            return [Check(name, CheckResult.OK, f"{replicas} replicas")]
        text = "one replica: if the store refuses a segment, its server has the only copy until a repair"
        return [Check(name, CheckResult.NOTE, text)]
    if replicas < 2:
        text = (
            f"{replicas} replica: without a store, its server would have the only copy; at least 2 are needed"
        )
        return [Check(name, CheckResult.WRONG, text)]
    if servers < replicas:
        text = (
            f"{replicas} replicas, but only {counted_text(servers, 'server')} with one of its tags: segments "
            "would lack copies"
        )
        return [Check(name, CheckResult.WRONG, text)]
    checks = [Check(name, CheckResult.OK, f"{replicas} replicas on {counted_text(servers, 'server')}")]
    segments = config.to_json().get("segmentsConfig") or {}
    if ((segments.get("completionConfig") or {}).get("completionMode") or "").upper() == "DOWNLOAD":
        text = "completionMode is DOWNLOAD: the committer has the only copy until the others download it"
        checks.append(Check(name, CheckResult.NOTE, text))
    text = (
        "if all servers of a segment lose their disks, its rows are lost: there is no other copy, no backup, "
        "and nothing to restore a cluster from"
    )
    return [*checks, Check(name, CheckResult.NOTE, text)]


def check_controller(config: Mapping[str, str], version: PinotVersion, policy: StorePolicy) -> list[Check]:
    """Check a controller's configuration."""
    where = "controller"
    root = config.get("controller.data.dir", "")
    retries = config.get(_RETRY, "false").lower() == "true"
    checks = []
    if config.get("controller.enable.split.commit", "true").lower() == "false":
        checks.append(Check(where, CheckResult.WRONG, "controller.enable.split.commit is false"))
    if policy is StorePolicy.SERVERS:
        if retries:
            text = f"{_RETRY} is true: the controller requests uploads that servers cannot make"
            checks.append(Check(where, CheckResult.NOTE, text))
        return checks
    if scheme_of(root) == "file":
        text = (
            f"controller.data.dir is a folder on the controller ({root}), which servers cannot upload to; "
            "for a cluster without a store, use `--policy servers`"
        )
        checks.append(Check(where, CheckResult.WRONG, text))
    else:
        checks.append(Check(where, CheckResult.OK, f"the deep store is {root}"))
    if not retries:
        text = f"{_RETRY} is not set: segments lack a copy until `pinotctl deepstore repair` or `watch` runs"
        checks.append(Check(where, CheckResult.NOTE, text))
    wait_s = _WAIT_BEFORE_1_0_S if version < PinotVersion(1, 0) else _WAIT_S
    text = f"stock servers of this version wait up to {wait_s} s for the store at each commit"
    return [*checks, Check(where, CheckResult.NOTE, text)]


def check_server(
    name: str, config: Mapping[str, str], root: str, scheme: str, policy: StorePolicy
) -> list[Check]:
    """Check a server's configuration.

    Args:
        name: Name of the server.
        config: Its configuration.
        root: The controller's deep store.
        scheme: Scheme by which it must download from other servers.
        policy: Where copies of its segments must be.
    """
    uri = config.get(_STORE_URI, "").rstrip("/")
    if policy is StorePolicy.STORE:
        checks = _check_upload(name, config, uri, root)
    elif uri:
        checks = [Check(name, CheckResult.NOTE, f"it still uploads to {uri}: remove {_STORE_URI}")]
    else:
        checks = [Check(name, CheckResult.OK, "uploads nothing")]
    checks += [
        Check(name, CheckResult.WRONG, f"{key} is false")
        for key in _COMMIT_FLAGS
        if config.get(key, "true").lower() == "false"
    ]
    return checks + check_fetching(name, config, {scheme})


def check_fetching(name: str, config: Mapping[str, str], schemes: Collection[str]) -> list[Check]:
    """Check whether a server can download segments by the schemes of their URLs; empty if it can."""
    checks = []
    for scheme in sorted(schemes):
        protocols = config.get(_PROTOCOLS, "")
        if scheme == "https" and "https" not in protocols.split(","):
            text = f"{_PROTOCOLS} ({protocols or 'not set'}) lacks https"
            checks.append(Check(name, CheckResult.WRONG, text))
        elif scheme not in ("http", "https", "file") and f"{_FILE_SYSTEM}.{scheme}" not in config:
            text = f"{_FILE_SYSTEM}.{scheme} is not set: it cannot reach the store"
            checks.append(Check(name, CheckResult.WRONG, text))
    return checks


def _check_upload(name: str, config: Mapping[str, str], uri: str, root: str) -> list[Check]:
    if not uri:
        text = f"{_STORE_URI} is not set (should be {root}): it would never upload"
        return [Check(name, CheckResult.WRONG, text)]
    if scheme_of(uri) != scheme_of(root):
        text = (
            f"{_STORE_URI} is {uri}, but the controller's store is {root}: segments cannot be moved between "
            "them"
        )
        return [Check(name, CheckResult.WRONG, text)]
    checks = [Check(name, CheckResult.OK, f"uploads to {uri}")]
    if config.get(_DATA_DIR, uri).rstrip("/") != root.rstrip("/"):
        text = f"it does not upload to {root}: on a server hosted in Python, set {_DATA_DIR} to that"
        checks.append(Check(name, CheckResult.NOTE, text))
    return checks + check_fetching(name, config, {scheme_of(uri)})
