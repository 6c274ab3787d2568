"""The store fails intermittently or is full; servers are killed while they upload or serve a segment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
import requests

from controller_client.models import TableConfig
from controller_client.publishing.loading import SegmentLoading
from controller_client.zookeeper import ZNRecord
from tests.integration.deepstore.conftest import Audit, Run, audit, run
from tests.integration.server_hooks.commits import (
    ROWS,
    fill,
    in_commits,
    make_committing,
    objects_of,
    urls,
    wait_committed,
    wait_uploaded,
    without_url,
)
from tests.integration.server_hooks.conftest import MakeTopicTable, TopicTable
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp
from tests.support.faulty_s3 import FaultyS3
from tests.support.pinot_services import HOSTED_TENANT, SERVER_ADDRESSES
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

__all__ = ["audit", "make_committing", "run"]

_TIMEOUT_S = 300.0
_MAX_REPAIRS = 10

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3, FULL]


def _repair(run: Run, table: TopicTable, code: int) -> dict[str, dict[str, str]]:
    told = run("deepstore", "repair", table.full_name, "--yes", "--output", "json", code=code)
    return {each["segment"]: each for each in json.loads(told.stdout)}


def test_the_store_fails_every_fifth_call_then_is_full(
    make_committing: MakeTopicTable,
    hosted_store: FaultyS3,
    run: Run,
    audit: Audit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make_committing(2)
    store = hosted_store
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", store.access.endpoint)

    # Not 403: later versions of Pinot would log in again and retry.
    fifth = store.answer(507, "*", objects_of(table), every=5)
    fill(table, 3)
    fifth.wait_hit()
    fifth.lift()
    # Servers upload the rejected tars later.
    wait_uploaded(table)

    full = store.answer(507, "PUT", objects_of(table))
    fill(table)
    without = without_url(table)
    assert len(without) == 2
    table.wait_served()  # a segment that no server serves yet cannot be repaired
    before = urls(table)
    failed = _repair(run, table, code=1)
    assert failed.keys() == without
    assert {each["outcome"] for each in failed.values()} == {"failed"}
    assert all("XMinioStorageFull" in each["message"] for each in failed.values())
    assert urls(table) == before
    full.lift()

    # Each repair makes progress; none undoes the work of another or of a server's late upload.
    fifth = store.answer(403, "*", objects_of(table), every=5)
    for _ in range(_MAX_REPAIRS):
        if not (left := without_url(table)):
            break
        document = run("deepstore", "repair", table.full_name, "--yes", "--output", "json", code=None).stdout
        assert {each["segment"] for each in json.loads(document)} <= left
    assert not without_url(table)
    fifth.lift()
    assert audit(table.full_name, "--read-tars") == {}
    table.wait_seen(table.produced)


def test_the_committer_is_killed_during_its_upload(
    make_committing: MakeTopicTable, hosted_store: FaultyS3, run: Run, audit: Audit
) -> None:
    table = make_committing(1)
    pinot = table.pinot
    hang = hosted_store.hold("PUT", in_commits(table))
    fill(table)
    (segment,) = without_url(table)

    def committer() -> str | None:
        logged = f"{segment}: not uploaded within "
        return next((role for role in ("hosted_1", "hosted_2") if logged in pinot.logs(role, 1000)), None)

    role = wait_for(committer, "the committer to go on", _TIMEOUT_S)
    assert role is not None
    pinot.kill(role)
    hang.lift()
    table.wait_seen(table.produced)
    assert audit(table.full_name, "--min-copies", "1") == {"no_url": {segment}}
    assert _repair(run, table, code=0)[segment]["outcome"] == "repaired"
    pinot.start(role)
    table.wait_served(replicas=2)
    assert audit(table.full_name, "--read-tars", "--min-copies", "3") == {}
    fill(table)
    assert not without_url(table)


@DISTURBS
def test_the_controller_is_killed_between_the_upload_and_the_end_of_a_commit(
    make_committing: MakeTopicTable, hosted_store: FaultyS3, audit: Audit
) -> None:
    table = make_committing(1)
    segment = table.consuming()[0]
    table.wait_served(replicas=2)
    # The retried commit has the same committer: there is no other.
    table.pinot.kill("hosted_2")
    # The store has the segment, and the committer does not know it yet.
    hang = hosted_store.hold_reply("PUT", in_commits(table))
    table.produce(0, ROWS)
    try:
        hang.wait_hit()
        table.pinot.kill("controller")
    finally:
        hang.lift()
        table.pinot.start("controller")
    wait_committed(table, {0: segment})
    table.wait_seen(table.produced)
    wait_uploaded(table)
    assert hosted_store.puts(in_commits(table)) == 1
    table.pinot.start("hosted_2")
    table.wait_served(replicas=2)
    fill(table)
    wait_uploaded(table)
    assert hosted_store.puts(in_commits(table)) == 2
    assert audit(table.full_name, "--read-tars") == {}


@pytest.mark.parametrize("stored", [True, False], ids=["from the store", "from its peer"])
def test_a_replica_that_lags_downloads_the_segment(
    make_committing: MakeTopicTable, hosted_servers: Sequence[str], hosted_store: FaultyS3, stored: bool
) -> None:
    table = make_committing(1)
    if not stored:
        hosted_store.answer(403, "PUT", in_commits(table))
    with table.pinot.patient("hosted_2"), _front_of(table, hosted_servers[0]) as peer:
        fill(table)
        table.wait_served(replicas=2)
        segment = table.consuming()[0]
        with table.pinot.suspended("hosted_2"):
            # Kafka answers the fetch that the hanging server has sent with the first row alone.
            table.produce(0, 1)
            first = len(table.produced[0])
            wait_for(
                lambda: _read_to(peer, table) == {segment: str(first)}, "the first row to be read", _TIMEOUT_S
            )
            table.produce(0, ROWS - 1)
            wait_committed(table, {0: segment})
            # From now on only the other replica and the store have its rows.
            table.topic.drop_before({0: len(table.produced[0])})
        table.wait_served(replicas=2)
        url = urls(table)[segment]
        assert bool(url) is stored
        assert (peer.count("GET", f"segments/{table.full_name}/{segment}") > 0) is not stored
        assert not stored or hosted_store.gets(url.removeprefix("s3://")) > 0
        table.wait_seen(table.produced)


@DISTURBS  # the relocated segments get to the servers of other tables
def test_segments_that_only_servers_have_move_to_the_servers_of_completed_segments(
    make_committing: MakeTopicTable,
    hosted_servers: Sequence[str],
    hosted_store: FaultyS3,
    run: Run,
    audit: Audit,
) -> None:
    table = make_committing(1)
    away = hosted_store.answer(403, "PUT", in_commits(table))
    fill(table, 2)
    table.wait_served(replicas=2)
    moved = without_url(table)
    assert len(moved) == 2
    config = table.client.tables.get(table.full_name).to_json()
    config["tenants"]["tagOverrideConfig"] = {
        "realtimeConsuming": f"{HOSTED_TENANT}_REALTIME",
        "realtimeCompleted": "DefaultTenant_OFFLINE",
    }
    table.client.tables.update(TableConfig.from_json(config))
    table.run_periodic_task("SegmentRelocator")

    def relocated() -> bool:
        view = table.client.tables.external_view(table.full_name)
        if any("ERROR" in view.get(segment, {}).values() for segment in moved):
            # Pinot removes a replica while the new one is downloaded, and may have asked that one each time.
            run("segment", "reset", table.full_name, "--errors")
            table.run_periodic_task("SegmentRelocator")
        servers = {server for segment in moved for server in table.segments()[segment]}
        return len(servers) == 2 and not servers & set(hosted_servers)

    wait_for(relocated, f"{sorted(moved)} to be relocated", _TIMEOUT_S)
    table.wait_served(replicas=2)
    table.wait_seen(table.produced)
    assert audit(table.full_name, "--min-copies", "1") == {"no_url": moved}
    away.lift()
    run("deepstore", "repair", table.name, "--yes")
    assert not without_url(table)
    assert audit(table.full_name, "--read-tars", "--min-copies", "3") == {}


@contextmanager
def _front_of(table: TopicTable, server: str) -> Iterator[FaultyHttp]:
    """Within the block, a server's peers reach its admin port through a proxy."""
    path = f"/{table.pinot.cluster_name}/CONFIGS/PARTICIPANT/{server}"

    def read() -> tuple[ZNRecord, int]:
        content = table.store.connection.get(path)
        assert content is not None
        return ZNRecord.from_bytes(content[0]), content[1]

    def publish(port: str) -> None:
        record, version = read()
        fields = {**record.simple_fields, "adminPort": port}
        table.store.connection.set(path, replace(record, simple_fields=fields).to_bytes(), version)

    fields = read()[0].simple_fields
    host, port = fields["HELIX_HOST"], fields["adminPort"]
    with FaultyHttp(f"http://{host}:{port}", host) as front:
        publish(str(front.port))
        try:
            yield front
        finally:
            publish(port)


def _read_to(server: FaultyHttp, table: TopicTable) -> dict[str, str]:
    """Return the offset that a server has read each consuming segment to."""
    reply = requests.get(f"{server.url}/tables/{table.full_name}/consumingSegmentsInfo", timeout=30)
    reply.raise_for_status()
    return {segment["segmentName"]: segment["partitionToOffsetMap"]["0"] for segment in reply.json()}


@contextmanager
def _third_server(pinot: PinotCluster) -> Iterator[None]:
    """Within the block, a server of other tables is also in the tenant of the hosted ones."""
    address, _ = SERVER_ADDRESSES["server_1"]
    with pinot.client() as client:
        (name,) = (name for name in client.instances.live() if name.startswith(f"Server_{address}_"))
        tags = client.instances.tags(name)
        client.instances.set_tags(name, [*tags, f"{HOSTED_TENANT}_REALTIME"])
        try:
            yield
        finally:
            client.instances.set_tags(name, tags)


def test_a_peer_is_killed_while_it_serves(
    make_committing: MakeTopicTable,
    hosted_servers: Sequence[str],
    hosted_store: FaultyS3,
    run: Run,
    audit: Audit,
) -> None:
    table = make_committing(1)
    hosted, pinot = hosted_servers, table.pinot
    away = hosted_store.answer(403, "PUT", in_commits(table))
    fill(table)
    table.wait_served(replicas=2)
    (segment,) = without_url(table)
    with _front_of(table, hosted[0]) as front, ThreadPoolExecutor(1) as pool:
        cut = front.cut(100, "GET", f"segments/{table.full_name}/{segment}")
        repairing = pool.submit(_repair, run, table, 0)
        wait_for(lambda: cut.was_hit or repairing.done(), "the repair to ask the first server", _TIMEOUT_S)
        assert cut.was_hit, repairing.result()
        pinot.kill("hosted_1")
        done = repairing.result(_TIMEOUT_S)[segment]
    assert (done["outcome"], done["source"]) == ("repaired", hosted[1])
    assert done["passed_over"].startswith(f"{hosted[0]}: ")
    pinot.start("hosted_1")
    table.wait_served(replicas=2)

    # A server that restores its lost disk has no other peer: Pinot abandons the segment.
    fill(table)
    table.wait_served(replicas=2)
    (segment,) = without_url(table)
    pinot.kill("hosted_2")
    pinot.lose_disk("hosted_2")
    with _front_of(table, hosted[0]) as front, ThreadPoolExecutor(1) as pool:
        cut = front.cut(100, "GET", f"segments/{table.full_name}/{segment}")
        starting = pool.submit(pinot.start, "hosted_2")
        cut.wait_hit()
        pinot.kill("hosted_1")
        starting.result(_TIMEOUT_S)
    view = table.client.tables.external_view
    abandoned = {hosted[1]: "ERROR"}
    wait_for(lambda: view(table.full_name)[segment] == abandoned, "the segment to be abandoned", _TIMEOUT_S)
    assert "few_copies" in audit(table.full_name, "--min-copies", "1")
    pinot.start("hosted_1")
    wait_for(lambda: view(table.full_name)[segment].get(hosted[0]) == "ONLINE", "the peer", _TIMEOUT_S)
    assert _repair(run, table, 0)[segment]["source"] == hosted[0]
    # After a manual reset alone, Helix may leave it OFFLINE.
    SegmentLoading(table.client, table.full_name, table.store, lambda _names: None).wait(
        [segment], _TIMEOUT_S
    )
    table.wait_served(replicas=2)
    away.lift()
    assert audit(table.full_name, "--read-tars", "--min-copies", "3") == {}
    table.wait_seen(table.produced)


@DISTURBS  # a server of other tables joins the tenant
def test_a_server_whose_peer_fails_downloads_from_another(
    make_committing: MakeTopicTable, hosted_servers: Sequence[str], hosted_store: FaultyS3
) -> None:
    table = make_committing(1)
    pinot = table.pinot
    hosted_store.answer(403, "PUT", in_commits(table))
    fill(table)
    table.wait_served(replicas=2)
    (segment,) = without_url(table)
    with _third_server(pinot):
        table.set_replicas(3)
        table.wait_served(replicas=3)
        pinot.kill("hosted_2")
        pinot.lose_disk("hosted_2")
        peers = table.segments()[segment].keys() - {hosted_servers[1]}
        path = f"segments/{table.full_name}/{segment}"
        with ExitStack() as fronts:
            proxies = [fronts.enter_context(_front_of(table, peer)) for peer in sorted(peers)]
            cuts = [proxy.cut(100, "GET", path, times=1) for proxy in proxies]
            pinot.start("hosted_2")
            table.wait_served(replicas=3)
        assert any(cut.was_hit for cut in cuts)
        table.wait_seen(table.produced)
