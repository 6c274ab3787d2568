"""Tables without a deep store: what is checked, what the audit requires, and how to go back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.checks import Check, CheckResult
from controller_client.deepstore.disable import check_copies, check_no_peers, check_servers
from controller_client.deepstore.judge import Fault, Replica, Stored, StoredState, judge
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.policy import POLICY_KEY, StorePolicy, policy_of, set_policy
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.safe_to_stop import judge_servers
from controller_client.deepstore.table_plan import PeerDownloadPlan, PeerSettings, apply
from controller_client.errors import ConfigError, ConflictError, RejectedError
from controller_client.models import TableConfig
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import WATCH
from tests.unit.controller_client.deepstore.samples import TABLE, record
from tests.unit.controller_client.deepstore.world import World

SERVERS, STORE = StorePolicy.SERVERS, StorePolicy.STORE


def config(replicas: int = 2, kind: str = "REALTIME", **more: Any) -> TableConfig:
    segments = {"replicasPerPartition": str(replicas)}
    return TableConfig.from_json({"tableName": "t", "tableType": kind, "segmentsConfig": segments, **more})


def wrong(checks: list[Check]) -> str:
    return "; ".join(check.text for check in checks if check.verdict is CheckResult.WRONG)


def test_the_policy_is_in_the_config_and_other_entries_are_kept() -> None:
    document = config(metadata={"customConfigs": {"owner": "me"}}).to_json()
    set_policy(document, SERVERS)
    assert document["metadata"]["customConfigs"] == {"owner": "me", POLICY_KEY: "servers"}
    assert policy_of(TableConfig.from_json(document)) is SERVERS
    set_policy(document, STORE)
    assert document["metadata"]["customConfigs"] == {"owner": "me"}
    assert policy_of(TableConfig.from_json(document)) is STORE
    untouched = config().to_json()
    set_policy(untouched, STORE)
    assert untouched == config().to_json()
    assert policy_of(None) is STORE


def test_a_policy_of_a_later_release_is_refused() -> None:
    with pytest.raises(ConfigError, match="'both'"):
        policy_of(config(metadata={"customConfigs": {POLICY_KEY: "both"}}))


REPLICAS = st.lists(
    st.tuples(st.sampled_from(["ONLINE", "ERROR", "OFFLINE"]), st.sampled_from([None, 7, 8])), max_size=4
)


@given(
    replicas=REPLICAS,
    stored=st.none() | st.builds(Stored, st.sampled_from(StoredState), st.sampled_from([None, 0, 5])),
    least=st.integers(1, 4),
)
def test_without_a_store_only_copies_on_servers_are_required(
    replicas: list[tuple[str, int | None]], stored: Stored | None, least: int
) -> None:
    servers = tuple(Replica(f"s{number}", state, crc) for number, (state, crc) in enumerate(replicas))
    segment = record(crc=7, url="s3://b/t/s" if stored else "")
    found = judge(segment, servers, stored, least, SERVERS)
    faults = {finding.fault for finding in found.findings}
    assert faults <= {Fault.FEW_COPIES, Fault.COPIES_UNKNOWN, Fault.REPLICA_CRC}
    good = sum(state == "ONLINE" and crc == 7 for state, crc in replicas)
    assert (Fault.FEW_COPIES in faults or Fault.COPIES_UNKNOWN in faults) == (
        good + found.stored_well < least
    )
    assert not found.repairable
    # Whether the store is required does not change which copies exist.
    with_store = judge(segment, servers, stored, least)
    assert (with_store.copies, with_store.stored_well) == (found.copies, found.stored_well)


def test_the_last_server_with_a_segment_must_not_stop() -> None:
    both = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 7))
    assert judge_servers(judge(record(crc=7), both, None, 2, SERVERS), ["a"]) is None
    assert judge_servers(judge(record(crc=7), both[:1], None, 2, SERVERS), ["a"]) is not None


ONLINE = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 7))
PRESENT = Stored(StoredState.PRESENT, 5, proven=True)


@pytest.mark.parametrize(
    ("stored", "is_wrong"),
    [
        (None, True),
        (PRESENT, False),
        (Stored(StoredState.ABSENT), True),
        (Stored(StoredState.PRESENT, 0), True),
        (Stored(StoredState.PRESENT, 1), True),
        (Stored(StoredState.UNKNOWN, why="no rights"), True),
    ],
)
def test_peers_are_needed_while_the_store_lacks_a_copy(stored: Stored | None, is_wrong: bool) -> None:
    judged = [
        judge(record("s0", crc=7, url="s3://b/t/s0"), ONLINE, PRESENT, 2),
        judge(record("s1", crc=7, url="s3://b/t/s1" if stored else ""), ONLINE, stored, 2),
        judge(record("s2", status="IN_PROGRESS"), ONLINE, None, 2),
    ]
    found = check_copies(TABLE, judged, STORE)
    assert bool(wrong(found)) == is_wrong
    if is_wrong:
        assert "(s1)" in wrong(found)
        assert "--policy store" not in wrong(found)
        # What the store may have must be read; a repair would find nothing to do.
        advice = "--read-tars" if judged[1].may_be_stored else "--policy store"
        assert advice in wrong(check_copies(TABLE, judged, SERVERS))
    (note,) = (check.text for check in found if check.verdict is CheckResult.NOTE)
    assert note.startswith("1 consuming segment")


def test_peers_are_needed_by_pauseless_tables() -> None:
    pauseless = {"streamIngestionConfig": {"pauselessConsumptionEnabled": True}}
    assert "pauseless" in wrong(check_no_peers(config(ingestionConfig=pauseless)))
    assert not wrong(check_no_peers(config()))
    assert "REALTIME" in wrong(check_no_peers(config(kind="OFFLINE")))


def test_peers_are_needed_by_servers_that_do_not_reach_the_store_or_do_not_answer() -> None:
    good = {"pinot.server.storage.factory.class.s3": "S3PinotFS"}
    assert not wrong(check_servers({"a": good, "b": good}, {"s3"}))
    assert not wrong(check_servers({"a": {}}, {"http"}))
    assert "cannot reach the store" in wrong(check_servers({"a": good, "b": {}}, {"s3"}))
    assert "it is down" in wrong(check_servers({"a": good, "b": "it is down"}, {"s3"}))


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client whose one table's config is kept in memory; ``meanwhile`` changes it after each update."""
    world = World(tmp_path)
    kept = [config(metadata={"customConfigs": {"owner": "me"}})]
    meanwhile: list[TableConfig] = []

    def update(after: TableConfig, *, skip_task_validation: bool = False) -> None:
        assert skip_task_validation
        kept[:] = [after]
        kept.extend(meanwhile)

    monkeypatch.setattr(world.client.tables, "get", lambda _table: kept[-1])
    monkeypatch.setattr(world.client.tables, "update", update)
    yield world.client, kept, meanwhile
    world.client.close()


OFF, ON = PeerSettings(None, STORE), PeerSettings("http", SERVERS)


def test_enable_and_disable_are_each_others_opposite(tables: Any) -> None:
    client, kept, _ = tables
    first = kept[-1].to_json()
    there = PeerDownloadPlan(TableName("t_REALTIME"), OFF, ON, ())
    assert there.changes() == [
        "t_REALTIME: segmentsConfig.peerSegmentDownloadScheme: (none) -> http",
        f"t_REALTIME: metadata.customConfigs.{POLICY_KEY}: store -> servers",
    ]
    apply(client, there)
    assert PeerSettings.of(kept[-1]) == ON
    assert kept[-1].to_json()["metadata"]["customConfigs"]["owner"] == "me"
    apply(client, PeerDownloadPlan(TableName("t_REALTIME"), ON, OFF, ()))
    assert kept[-1].to_json() == first


def test_nothing_is_changed_against_a_check_or_what_somebody_else_has_changed(tables: Any) -> None:
    client, kept, meanwhile = tables
    speaks = Check("a", CheckResult.WRONG, "it is down")
    with pytest.raises(RejectedError, match="a: it is down"):
        apply(client, PeerDownloadPlan(TableName("t_REALTIME"), OFF, ON, (speaks,)))
    with pytest.raises(ConflictError, match="meanwhile"):
        apply(client, PeerDownloadPlan(TableName("t_REALTIME"), ON, OFF, ()))
    assert PeerSettings.of(kept[-1]) == OFF
    meanwhile.append(config(3))
    with pytest.raises(ConflictError, match="at the same time"):
        apply(client, PeerDownloadPlan(TableName("t_REALTIME"), OFF, ON, ()))


def test_a_watch_misses_no_copy_in_the_store_of_a_table_without_one() -> None:
    monitoring = Monitoring(WATCH)
    metrics = WatchMetrics(monitoring, 1.0)
    few = judge(record(crc=7), (Replica("a", "ONLINE", 7),), None, 2, SERVERS)
    assert [each.fault for each in few.findings] == [Fault.FEW_COPIES]
    audit = TableAudit(TABLE, 1, 0, (few,), (), policy=SERVERS)
    metrics.audited(AuditReport("s3://b/c", 2, 0, 1.0, (audit,)))
    assert f'deepstore_unstored_segments{{table="{TABLE}"}} 0.0\n' in monitoring.text()
    metrics.audited(AuditReport("s3://b/c", 2, 0, 1.0, (replace(audit, policy=STORE),)))
    assert f'deepstore_unstored_segments{{table="{TABLE}"}} 1.0\n' in monitoring.text()


@pytest.mark.parametrize("policy", StorePolicy)
def test_a_copy_that_a_store_may_have_is_not_lost_whatever_the_policy(policy: StorePolicy) -> None:
    unknown = Stored(StoredState.UNKNOWN, why="away")
    bad = judge(record(url="gs://b/c/t/s"), (Replica("a", "ERROR"),), unknown, 2, policy)
    assert Fault.FEW_COPIES in [each.fault for each in bad.findings]
    assert not bad.without_good_copy
