"""Lets a realtime table commit without the deep store: checks what must agree, then changes the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableName, TableType
from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import ConfigError, ConflictError, NotAppliedError, RejectedError
from controller_client.filestore import scheme_of
from controller_client.models import TableConfig
from controller_client.rest.capabilities import PinotVersion
from controller_client.rest.client import RestClient

__all__ = [
    "Check",
    "EnablePlan",
    "Verdict",
    "check_controller",
    "check_server",
    "check_table",
    "enable",
    "plan",
]

_FIELD = "peerSegmentDownloadScheme"
_STORE_URI = "pinot.server.instance.segment.store.uri"
_WAIT_BEFORE_1_0_S = 10
_WAIT_S = 300


class Verdict(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    """As things are, the table would not commit, or never get a copy in the store."""


@dataclass(frozen=True)
class Check:
    """One thing that was inspected.

    Attributes:
        where: The table, ``controller``, or a server's name.
        verdict: Its outcome.
        text: In words: what was found, and what to do.
    """

    where: str
    verdict: Verdict
    text: str


@dataclass(frozen=True)
class EnablePlan:
    """What would be changed.

    Attributes:
        table: Name with type.
        before: The table's scheme as it is; None: none.
        after: As it is to be.
        checks: What was inspected.
    """

    table: TableName
    before: str | None
    after: str
    checks: tuple[Check, ...]

    @property
    def wrong(self) -> list[Check]:
        """Checks that speak against it."""
        return [check for check in self.checks if check.verdict is Verdict.WRONG]


def plan(client: RestClient, servers: ServerAdmins, table: TableName, scheme: str = "http") -> EnablePlan:
    """Look at table, controller and servers; nothing is changed.

    Args:
        client: Client of the cluster.
        servers: Reaches servers.
        table: Name with type.
        scheme: ``http`` or ``https``: by which servers fetch from each other.

    Raises:
        ConfigError: The scheme is neither.
        NotFoundError: There is no such table.
        NotAppliedError: The controller does not answer.
    """
    if scheme not in ("http", "https"):
        raise ConfigError(f"the scheme {scheme!r}", expected="http or https")
    config = client.tables.get(table)
    checks = check_table(config)
    checks += check_controller(client.cluster.app_config(), client.cluster.version())
    root = client.cluster.deep_store_uri() or ""
    tenant = (config.to_json().get("tenants") or {}).get("server") or "DefaultTenant"
    named = [name for name in client.instances.list() if name.startswith("Server_")]
    serving = [name for name in named if f"{tenant}_REALTIME" in client.instances.tags(name)]
    if not serving:
        checks.append(Check(table, Verdict.WRONG, f"no server has the tag {tenant}_REALTIME"))
    for name in serving:
        try:
            checks += check_server(name, servers.config(name), root, scheme)
        except NotAppliedError as error:
            checks.append(Check(name, Verdict.NOTE, f"its configuration cannot be read: {error.message}"))
    return EnablePlan(table, _scheme_of_table(config), scheme, tuple(checks))


def enable(client: RestClient, planned: EnablePlan) -> None:
    """Change the table's config as planned, and read it back.

    Raises:
        RejectedError: A check speaks against it, or Pinot refuses the config.
        ConflictError: Somebody else has changed the scheme since the plan was made, or after it was written.
        OutcomeUnknownError: The reply was lost: read the table's config.
    """
    if planned.wrong:
        raise RejectedError(
            f"{planned.table} cannot commit without the deep store: "
            + "; ".join(f"{check.where}: {check.text}" for check in planned.wrong),
            remedy="fix that first",
        )
    config = client.tables.get(planned.table)
    if _scheme_of_table(config) != planned.before:
        raise ConflictError(f"{planned.table} was changed by somebody else meanwhile", remedy="run it again")
    document = config.to_json()
    document["segmentsConfig"][_FIELD] = planned.after
    client.tables.update(TableConfig.from_json(document), skip_task_validation=True)
    if _scheme_of_table(client.tables.get(planned.table)) != planned.after:
        raise ConflictError(
            f"{planned.table} was written by somebody else at the same time", remedy="run it again"
        )


def check_table(config: TableConfig) -> list[Check]:
    """Judge a table's config. Pure."""
    name = config.name_with_type
    if config.table_type is not TableType.REALTIME:
        return [Check(name, Verdict.WRONG, "only servers of a REALTIME table commit segments")]
    if config.replicas > 1:
        return [Check(name, Verdict.OK, f"{config.replicas} replicas")]
    text = "one replica: until a repair, its server has the only copy of a segment that the store refused"
    return [Check(name, Verdict.NOTE, text)]


def check_controller(config: Mapping[str, str], version: PinotVersion) -> list[Check]:
    """Judge a controller's configuration. Pure."""
    where = "controller"
    checks = []
    root = config.get("controller.data.dir", "")
    if scheme_of(root) == "file":
        text = f"controller.data.dir is a folder of the controller ({root}): servers cannot upload to it"
        checks.append(Check(where, Verdict.WRONG, text))
    else:
        checks.append(Check(where, Verdict.OK, f"the deep store is {root}"))
    if config.get("controller.enable.split.commit", "true").lower() == "false":
        checks.append(Check(where, Verdict.WRONG, "controller.enable.split.commit is false"))
    key = "controller.realtime.segment.deepStoreUploadRetryEnabled"
    if config.get(key, "false").lower() != "true":
        text = f"{key} is not set: segments stay without a copy until `pinotctl deepstore repair` or `watch`"
        checks.append(Check(where, Verdict.NOTE, text))
    wait_s = _WAIT_BEFORE_1_0_S if version < PinotVersion(1, 0) else _WAIT_S
    text = f"a stock server of this version waits up to {wait_s} s for the store at each commit"
    return [*checks, Check(where, Verdict.NOTE, text)]


def check_server(name: str, config: Mapping[str, str], root: str, scheme: str) -> list[Check]:
    """Judge a server's configuration. Pure.

    Args:
        name: Of the server.
        config: Its configuration.
        root: The controller's deep store.
        scheme: By which it is to fetch from other servers.
    """
    checks = []
    uri = config.get(_STORE_URI, "").rstrip("/")
    if not uri:
        text = f"{_STORE_URI} is not set (to {root}): it would never upload"
        checks.append(Check(name, Verdict.WRONG, text))
    elif scheme_of(uri) != scheme_of(root):
        text = (
            f"{_STORE_URI} is {uri}, the controller's store is {root}: it cannot move segments between them"
        )
        checks.append(Check(name, Verdict.WRONG, text))
    else:
        checks.append(Check(name, Verdict.OK, f"uploads to {uri}"))
        fs = f"pinot.server.storage.factory.class.{scheme_of(uri)}"
        if fs not in config and scheme_of(uri) != "file":
            checks.append(Check(name, Verdict.WRONG, f"{fs} is not set: it cannot reach the store"))
    if config.get("pinot.server.instance.enable.split.commit", "true").lower() == "false":
        checks.append(Check(name, Verdict.WRONG, "pinot.server.instance.enable.split.commit is false"))
    protocols = config.get("pinot.server.segment.fetcher.protocols", "")
    if scheme == "https" and "https" not in protocols.split(","):
        text = f"pinot.server.segment.fetcher.protocols ({protocols or 'not set'}) lacks https"
        checks.append(Check(name, Verdict.WRONG, text))
    return checks


def _scheme_of_table(config: TableConfig) -> str | None:
    found = config.to_json().get("segmentsConfig", {}).get(_FIELD)
    return str(found) if found else None
