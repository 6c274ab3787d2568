"""Which features of this project work on a cluster, given its version and its servers.

No version is named here: :mod:`controller_client.rest.capabilities` defines which version can do what, and
servers that are hosted in Python report to ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controller_client.consumption.state.partition_record import read_reports
from controller_client.errors import PinotPluginError
from controller_client.publishing.routing import NEW_SEGMENTS, brokers_skipping
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["Feature", "Servers", "Works", "features_of", "partial_answers", "read_servers"]

_SERVER = "Server_"
_SERVE = "start them with 'pinotctl serve server'"


class Works(StrEnum):
    """Whether a feature works on a cluster."""

    YES = "yes"
    NO = "no"
    PARTLY = "partly"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Servers:
    """The cluster's live servers.

    Attributes:
        live: All of them.
        hosted: Those that are hosted in Python.
        unknown: Why they could not be read; empty if they could.
    """

    live: frozenset[str] = frozenset()
    hosted: frozenset[str] = frozenset()
    unknown: str = ""


@dataclass(frozen=True)
class Feature:
    """One feature of this project.

    Attributes:
        works: Whether it works here.
        how: How it works, or what is missing.
    """

    works: Works
    how: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"works": self.works.value, "how": self.how}


def read_servers(open_store: Callable[[], PropertyStore]) -> Servers:
    """Read which servers are live and which of them are hosted in Python; never fails.

    Args:
        open_store: Connects to ZooKeeper; its error becomes the reason in :attr:`Servers.unknown`.
    """
    try:
        store = open_store()
        live = frozenset(name for name in store.live_instances() if name.startswith(_SERVER))
        # There are reports of servers that are down, too.
        hosted = live & read_reports(store).keys()
    except PinotPluginError as error:
        return Servers(unknown=f"ZooKeeper cannot be read: {error.message}")
    return Servers(live, hosted)


def partial_answers(client: RestClient) -> str:
    """Return what is to be said of brokers that may skip new segments; empty if there are none. Never fails.

    Args:
        client: Client of the cluster; brokers are asked with its credentials.
    """
    try:
        skipping = brokers_skipping(client)
    except PinotPluginError as error:
        return f"whether brokers skip new segments is unknown: {error.message}"
    if not skipping:
        return ""
    return f"{', '.join(skipping)} may skip new segments while a server is away: set {NEW_SEGMENTS}=0"


def features_of(capabilities: Capabilities, servers: Servers, answers: str = "") -> Mapping[str, Feature]:
    """Return the features by their names in snake_case.

    Args:
        capabilities: What the cluster's version can do.
        servers: The cluster's live servers.
        answers: See :func:`partial_answers`.
    """
    has = capabilities.has
    replaces = has(Capability.LIST_LINEAGE)
    switch = _if(replaces, answers, f"needs {Capability.LIST_LINEAGE.value}")
    jars = "depends on the jars of the process that builds or reads; see 'pinotctl jars fetch'"
    return {
        "ingestion_append": switch,
        "ingestion_sync": _with_empty(switch),
        "ingestion_swap": _with_empty(switch),
        "ingestion_schedule": Feature(
            Works.YES,
            "as cronSchedule while no minion with the task's tag is live"
            if has(Capability.SCHEDULE_CHECKED)
            else "as schedule",
        ),
        "fast_path": Feature(Works.UNKNOWN, jars),
        "spark_write": switch,
        "spark_read_servers": Feature(Works.YES, "by gRPC"),
        "spark_read_segments": Feature(Works.UNKNOWN, jars),
        "spark_read_broker": Feature(Works.YES),
        "table_pause": _table_pause(capabilities),
        "partition_pause": _hosted(servers),
        "commit_upload": _hosted(servers),
        "audit_and_repair": Feature(
            Works.YES,
            "for segments that servers commit, the size is that of the unpacked folder"
            if has(Capability.FOLDER_SIZES)
            else "",
        ),
        "upsert": _hosted(
            servers,
            "a query option selects the version, in either engine"
            if has(Capability.TABLE_MANAGERS)
            else "a condition in the SQL selects the version, in the single-stage engine",
        ),
    }


def _if(there: bool, how: str, lacking: str) -> Feature:
    return Feature(Works.YES, how) if there else Feature(Works.NO, lacking)


def _with_empty(switch: Feature) -> Feature:
    if switch.works is Works.YES:
        how = "if no file is left, one segment without rows remains"
        return Feature(Works.YES, "; ".join(filter(None, (how, switch.how))))
    return switch


def _table_pause(capabilities: Capabilities) -> Feature:
    extras = {
        Capability.PAUSE_COMMENT: "Pinot stores the comment too",
        Capability.FORCE_COMMIT_BATCHES: "commits in batches",
        Capability.PAUSE_BATCHES: "pauses in batches",
    }
    how = "; ".join(text for capability, text in extras.items() if capabilities.has(capability))
    lacking = f"needs {Capability.PAUSE_CONSUMPTION.value}"
    return _if(capabilities.has(Capability.PAUSE_CONSUMPTION), how, lacking)


def _hosted(servers: Servers, how: str = "") -> Feature:
    """Return a feature that server hooks provide: it works on servers that are hosted in Python."""
    if servers.unknown:
        return Feature(Works.UNKNOWN, servers.unknown)
    count = f"{len(servers.hosted)} of {len(servers.live)} live servers are hosted in Python"
    if not servers.hosted:
        return Feature(Works.NO, f"{count}: {_SERVE}")
    parts = [count, how] if how else [count]
    works = Works.YES if servers.hosted == servers.live else Works.PARTLY
    return Feature(works, "; ".join(parts))
