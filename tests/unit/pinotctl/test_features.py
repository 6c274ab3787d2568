"""Which features work on a cluster, by its version and by the servers that report to ZooKeeper."""

from __future__ import annotations

import re

import pytest

from controller_client.config import ControllerConfig
from controller_client.consumption.state.partition_record import PartitionReport, write_report
from controller_client.errors import UnreachableError
from controller_client.publishing.routing import NEW_SEGMENTS
from controller_client.rest.capabilities import Capabilities, PinotVersion
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore, ZNRecord
from pinotctl.features import Feature, Servers, Works, features_of, partial_answers, read_servers
from tests.unit.controller_client.scripted_server import ScriptedServer, answer
from tests.unit.memory_zookeeper import CLUSTER, memory_store

BOTH = frozenset({"Server_a_1", "Server_b_1"})
HOSTED = Servers(BOTH, BOTH)


def features(version: str, servers: Servers = HOSTED) -> dict[str, Feature]:
    return dict(features_of(Capabilities(PinotVersion.parse(version)), servers))


@pytest.fixture
def store() -> PropertyStore:
    """Two live servers, of which ``b`` is hosted in Python, a broker, and a hosted server that is down."""
    store, znodes = memory_store()
    for name in (*sorted(BOTH), "Broker_c_1"):
        record = ZNRecord(name, simple_fields={"SESSION_ID": f"s-{name}"})
        znodes.create(f"/{CLUSTER}/LIVEINSTANCES/{name}", record.to_bytes())
    write_report(store, PartitionReport("Server_a_1", "an older session"))
    write_report(store, PartitionReport("Server_b_1", "s-Server_b_1"))
    write_report(store, PartitionReport("Server_down_1", "its last session"))
    return store


def test_live_servers_that_report_in_their_session_are_hosted(store: PropertyStore) -> None:
    servers = read_servers(lambda: store)
    assert servers == Servers(BOTH, frozenset({"Server_b_1"}))
    found = features("1.5.1", servers)
    for name in ("partition_pause", "commit_upload", "upsert"):
        assert found[name].works is Works.PARTLY
        assert found[name].how.startswith("1 of 2 live servers are hosted in Python")


def test_an_unreachable_zookeeper_is_reported() -> None:
    def away() -> PropertyStore:
        raise UnreachableError("nobody answers at zk:2181")

    servers = read_servers(away)
    assert servers.unknown == "ZooKeeper cannot be read: nobody answers at zk:2181"
    pause = features("1.5.1", servers)["partition_pause"]
    assert (pause.works, pause.how) == (Works.UNKNOWN, servers.unknown)


def test_stock_servers_have_no_hooks() -> None:
    pause = features("1.5.1", Servers(BOTH))["partition_pause"]
    assert pause.works is Works.NO
    assert pause.how == ("0 of 2 live servers are hosted in Python: start them with 'pinotctl serve server'")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("ingestion_schedule", "as schedule", "as cronSchedule while no minion with the task's tag is live"),
        ("ingestion_sync", *["if no file is left, one segment without rows remains"] * 2),
        ("table_pause", "", "Pinot stores the comment too; commits in batches; pauses in batches"),
        ("audit_and_repair", "", "for segments that servers commit, the size is that of the unpacked folder"),
    ],
)
def test_the_way_differs_by_version(name: str, old: str, new: str) -> None:
    assert features("0.11.0")[name] == Feature(Works.YES, old)
    assert features("1.5.1")[name] == Feature(Works.YES, new)
    assert features("1.97.0")[name] == Feature(Works.YES, new), "later versions are treated as the newest"


@pytest.mark.parametrize(
    ("version", "seconds", "shown"),
    [("1.5.1", "0", ""), ("1.5.1", "300", "may skip new segments"), ("0.11.0", "300", "")],
)
def test_brokers_that_skip_new_segments_are_named(version: str, seconds: str, shown: str) -> None:
    with ScriptedServer() as server, RestClient(ControllerConfig(server.url)) as client:
        tenants = {"DefaultTenant": [{"host": "127.0.0.1", "port": int(server.url.rpartition(":")[2])}]}
        replies = {
            "/version": {"pinot-controller": version},
            "/v2/brokers/tenants": tenants,
            "/appconfigs": {"pinotConfig": {NEW_SEGMENTS: seconds}},
        }
        server.answers = lambda seen: answer(200, replies[seen.path])
        answers = partial_answers(client)
        found = features_of(client.cluster.capabilities(), HOSTED, answers)
    assert shown in answers
    assert bool(shown) == (server.url in answers)
    assert all(found[name].how.endswith(answers) for name in ("ingestion_append", "ingestion_sync"))
    assert found["spark_write"].how == answers


def test_how_queries_select_versions_depends_on_the_servers() -> None:
    assert "condition in the SQL" in features("1.2.0")["upsert"].how
    assert "a query option" in features("1.3.0")["upsert"].how


def test_what_a_version_lacks_is_named() -> None:
    found = features("0.9.3")
    assert found["ingestion_append"] == Feature(Works.NO, "needs listing the segment lineage")
    assert found["ingestion_swap"] == found["spark_write"] == found["ingestion_append"]
    assert found["table_pause"] == Feature(Works.NO, "needs pausing consumption")


def test_names_are_in_snake_case() -> None:
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", name) for name in features("1.5.1"))
    assert features("1.5.1")["spark_read_broker"].to_json() == {"works": "yes", "how": ""}
