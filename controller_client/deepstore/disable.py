"""Makes a realtime table commit through the deep store again: checks that nothing needs peers any more.

Without peer download, a server can get a segment only by its URL. So each committed segment must have a good
copy in the store, and each server must be able to download it from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.common.text import counted_text
from controller_client.deepstore.audit import Auditor
from controller_client.deepstore.checks import Check, CheckResult, check_fetching
from controller_client.deepstore.judge import Judgement
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.servers import ServerAdmins, table_servers
from controller_client.deepstore.table_plan import PeerDownloadPlan, PeerSettings
from controller_client.filestore import scheme_of
from controller_client.models import TableConfig
from controller_client.rest.client import RestClient

__all__ = ["check_copies", "check_no_peers", "check_servers", "plan_disable"]

_NAMED = 3


def plan_disable(
    client: RestClient, servers: ServerAdmins, auditor: Auditor, table: TableName
) -> PeerDownloadPlan:
    """Check the table's config, all of its segments, and its servers; nothing is changed.

    Args:
        client: Client of the cluster.
        servers: Client of the servers.
        auditor: Audits copies.
        table: Name with type.

    Raises:
        NotFoundError: There is no such table.
        NotAppliedError: The controller or ZooKeeper does not answer.
    """
    config = client.tables.get(table)
    before = PeerSettings.of(config)
    checks = check_no_peers(config)
    if config.table_type is TableType.REALTIME:
        judged, _ = auditor.judge(table)
        checks += check_copies(table, judged, before.policy)
        urls = [each.record.url for each in judged if each.record.url]
        # Later segments are committed through the controller, which keeps them in its store.
        schemes = {scheme_of(url) for url in (*urls, auditor.layout.url(table, "next"))}
        checks += check_servers(table_servers(client, servers, config).configs, schemes)
    return PeerDownloadPlan(table, before, PeerSettings(None, StorePolicy.STORE), tuple(checks))


def check_no_peers(config: TableConfig) -> list[Check]:
    """Check whether a table's config works without peer download. Pure."""
    name = config.name_with_type
    if config.table_type is not TableType.REALTIME:
        return [Check(name, CheckResult.WRONG, "only servers of a REALTIME table commit segments")]
    ingestion: dict[str, Any] = config.to_json().get("ingestionConfig") or {}
    if (ingestion.get("streamIngestionConfig") or {}).get("pauselessConsumptionEnabled") is True:
        text = "pauselessConsumptionEnabled is true, which needs peer download: turn it off first"
        return [Check(name, CheckResult.WRONG, text)]
    text = "from now on, commits wait for the store, and consumption stops while it is unavailable"
    return [Check(name, CheckResult.NOTE, text)]


def check_copies(table: TableName, judged: Sequence[Judgement], policy: StorePolicy) -> list[Check]:
    """Check whether the store has all committed segments. Pure."""
    checks = []
    lacking = [judgement.record.segment for judgement in judged if judgement.unstored]
    unchecked = [judgement.record.segment for judgement in judged if judgement.may_be_stored]
    if unchecked:
        text = (
            f"{counted_text(len(unchecked), 'segment')} whose copy in the store is not proven "
            f"({_first(unchecked)}): run this with --read-tars, on a machine that can read the store"
        )
        checks.append(Check(table, CheckResult.WRONG, text))
    if lacking:
        before = ""
        if policy is StorePolicy.SERVERS:
            before = f"`pinotctl deepstore enable {table} --policy store` and "
        text = (
            f"{counted_text(len(lacking), 'segment')} without a copy in the store that is known to be good "
            f"({_first(lacking)}): only servers have them; run {before}`pinotctl deepstore repair {table}` "
            "first"
        )
        checks.append(Check(table, CheckResult.WRONG, text))
    if not (lacking or unchecked):
        committed = sum(not judgement.record.consuming for judgement in judged)
        text = f"the store has a copy of {counted_text(committed, 'committed segment')}"
        checks.append(Check(table, CheckResult.OK, text))
    if consuming := sum(judgement.record.consuming for judgement in judged):
        text = (
            f"{counted_text(consuming, 'consuming segment')} started with peer download and may still be "
            f"committed without the store: run `pinotctl deepstore repair {table}` afterwards"
        )
        checks.append(Check(table, CheckResult.NOTE, text))
    return checks


def _first(segments: Sequence[str]) -> str:
    return ", ".join(segments[:_NAMED]) + (", ..." if len(segments) > _NAMED else "")


def check_servers(configs: Mapping[str, dict[str, str] | str], schemes: Collection[str]) -> list[Check]:
    """Check whether each server can download segments by their URLs. Pure.

    Args:
        configs: Their configurations, or why a server does not answer.
        schemes: The schemes of the URLs.
    """
    checks = []
    for name, config in configs.items():
        if isinstance(config, str):
            text = f"its configuration cannot be read, so it may be unable to use the store: {config}"
            checks.append(Check(name, CheckResult.WRONG, text))
        else:
            wrong = check_fetching(name, config, schemes)
            checks += wrong or [Check(name, CheckResult.OK, f"can download by {', '.join(sorted(schemes))}")]
    return checks
