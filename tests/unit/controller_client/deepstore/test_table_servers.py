"""The servers of a table: those of its tenant, and those that committed segments move to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.deepstore.enable import check_peers
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.servers import TableServers, table_servers
from controller_client.errors import UnreachableError
from controller_client.models import ServerTags, TableConfig

TIERS = [{"name": "cold", "storageType": "pinot_server", "serverTag": "cold_OFFLINE"}]
CONSUMING = {"tagOverrideConfig": {"realtimeConsuming": "in_REALTIME"}}
ASSIGNED = {
    "CONSUMING": {"tagPoolConfig": {"tag": "in_REALTIME"}},
    "COMPLETED": {"tagPoolConfig": {"tag": "pool_OFFLINE"}},
    "cold": {"tagPoolConfig": {"tag": "frozen_OFFLINE"}},
    "hot": {},
}
COMPLETED = {"server": "a", "tagOverrideConfig": {"realtimeCompleted": "done_OFFLINE"}}


def config(**more: Any) -> TableConfig:
    segments = {"replicasPerPartition": "2"}
    return TableConfig.from_json(
        {"tableName": "t", "tableType": "REALTIME", "segmentsConfig": segments, **more}
    )


@pytest.mark.parametrize(
    ("document", "consuming", "others"),
    [
        ({}, "DefaultTenant_REALTIME", set()),
        ({"tenants": {"server": "a"}}, "a_REALTIME", set()),
        ({"tenants": COMPLETED}, "a_REALTIME", {"done_OFFLINE"}),
        ({"tenants": CONSUMING}, "in_REALTIME", {"DefaultTenant_REALTIME"}),
        ({"tierConfigs": TIERS}, "DefaultTenant_REALTIME", {"cold_OFFLINE"}),
        (
            {"tenants": COMPLETED, "tierConfigs": TIERS, "instanceAssignmentConfigMap": ASSIGNED},
            "in_REALTIME",
            {"pool_OFFLINE", "frozen_OFFLINE"},
        ),
        ({"instanceAssignmentConfigMap": None, "tierConfigs": None}, "DefaultTenant_REALTIME", set()),
    ],
)
def test_tags_are_those_that_pinot_reads(document: dict[str, Any], consuming: str, others: set[str]) -> None:
    assert ServerTags.of(config(**document)) == ServerTags(consuming, frozenset(others))


class Cluster:
    """Servers with their tags; stands in for a client and for the servers."""

    def __init__(self, **tags: str) -> None:
        self._tags = {f"Server_{name}": tag for name, tag in tags.items()}
        self.instances = self

    def list(self) -> list[str]:
        return ["Broker_x", "Server_dropped", *self._tags]

    def find(self, name: str) -> Any:
        return SimpleNamespace(tags=(self._tags[name],)) if name in self._tags else None

    def config(self, name: str) -> dict[str, str]:
        if name == "Server_dead":
            raise UnreachableError("it is down")
        return {}


def test_all_servers_of_the_table_and_no_others_are_read() -> None:
    cluster: Any = Cluster(commits="a_REALTIME", dead="a_REALTIME", done="done_OFFLINE", other="b_REALTIME")
    found = table_servers(cluster, cluster, config(tenants=COMPLETED))
    assert found.configs == {"Server_commits": {}, "Server_dead": "it is down", "Server_done": {}}
    assert found.consuming == frozenset({"Server_commits", "Server_dead"})
    assert found.fewest == 1


@pytest.mark.parametrize("policy", StorePolicy)
def test_a_server_for_completed_segments_must_download_but_not_upload(policy: StorePolicy) -> None:
    servers = TableServers({"done": {}}, consuming=frozenset(), fewest=2)
    (fetches,) = check_peers(servers, "s3://b/c", "http", policy)
    assert (fetches.verdict, fetches.text) == ("ok", "downloads by http what the others have committed")
    (lacks,) = check_peers(servers, "s3://b/c", "https", policy)
    assert (lacks.verdict, "lacks https" in lacks.text) == ("wrong", True)
