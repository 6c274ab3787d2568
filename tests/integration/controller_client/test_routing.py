"""The routing of brokers on a real cluster."""

from __future__ import annotations

import re
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.retry import RetryPolicy
from controller_client.config import ControllerConfig
from controller_client.errors import WaitTimeoutError
from controller_client.models import Schema, TableConfig
from controller_client.publishing.replacement import SegmentReplacement
from controller_client.publishing.routing import wait_routed
from controller_client.zookeeper import PropertyStore
from tests.integration.controller_client.conftest import (
    Content,
    Filled,
    content_of,
    names,
    push,
    schema_document,
    table_document,
)
from tests.integration.jvm_bridge.brokers import BrokerProcess
from tests.integration.jvm_bridge.servers import JAVA_OPTS
from tests.support.cluster import PinotCluster
from tests.support.segments import BuiltSegment
from tests.support.service import Program
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


def test_after_the_wait_queries_see_the_replacement(filled: Filled) -> None:
    client, table, new = filled.client, filled.table, filled.built[2:5]
    present, absent = names(new), names(filled.old)
    with filled.replacement(new):
        filled.push(new)
        with pytest.raises(WaitTimeoutError, match="queries 2 old segments and lacks 3 new ones"):
            wait_routed(client, table, present=present, absent=absent, timeout_s=0)
    wait_routed(client, table, present=present, absent=absent, timeout_s=300)
    assert filled.content.seen() == content_of(new)


def test_a_broker_that_was_not_notified_is_asked_to_rebuild_its_routing(
    pinot: PinotCluster, filled: Filled
) -> None:
    """A controller that died after it completed the entry and before it notified the brokers."""
    client, table, new = filled.client, filled.table, filled.built[2:5]
    present, absent = names(new), names(filled.old)
    entry_id = client.lineage.start(table, absent, present)
    filled.push(new)
    client.segments.wait_online(table, present, 300)
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        path = f"/SEGMENT_LINEAGE/{table}"
        found = store.get(path)
        assert found is not None
        before = found.record.list_fields
        words = ["COMPLETED" if word == "IN_PROGRESS" else word for word in before[entry_id]]
        lists = {**before, entry_id: words}
        store.set(path, replace(found.record, list_fields=lists), found.version)
    with pytest.raises(WaitTimeoutError, match="queries 2 old segments and lacks 3 new ones"):
        wait_routed(client, table, present=present, absent=absent, timeout_s=1)
    wait_routed(client, table, present=present, absent=absent, timeout_s=300)
    assert filled.content.seen() == content_of(new)


@pytest.fixture
def second_broker(pinot: PinotCluster, client: ControllerClient, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A stock broker in addition to the cluster's, in a tenant that consists of both."""
    tenant = f"two_{uuid.uuid4().hex[:8]}"
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        broker = BrokerProcess(pinot, store, tmp_path / "broker", Program.PINOT, tenant)
        # The longest that ZooKeeper grants: a broker that is stopped for a while stays listed.
        broker.java_opts = re.sub(r"timeout=\d+", "timeout=40000", JAVA_OPTS)
        broker.register()
        first = pinot.broker_instance
        client.instances.set_tags(first, [*client.instances.tags(first), f"{tenant}_BROKER"])
        broker.start()
        broker.wait_ready()
        yield broker
        broker.signal(signal.SIGTERM)  # a killed one stays in the cluster until its session ends
        broker.wait_end()
        tags = client.instances.tags(first)
        client.instances.set_tags(first, [tag for tag in tags if not tag.startswith(tenant)])
        broker.remove()


@dataclass
class TwoBrokers:
    """A table on two brokers, the second of which will have faults."""

    client: ControllerClient
    table: TableName
    second: BrokerProcess
    content: Content
    present: list[BuiltSegment] = field(default_factory=list)
    gone: list[BuiltSegment] = field(default_factory=list)

    def replace(self, new: list[BuiltSegment]) -> SegmentReplacement:
        """Push segments in place of the present ones; the caller ends the replacement."""
        replacement = SegmentReplacement(self.client, self.table, names(self.present), names(new))
        replacement.start()
        push(self.client, self.table, new)
        self.client.segments.wait_online(self.table, names(new), 300)
        self.gone, self.present = self.present, new
        return replacement

    def wait(self, timeout_s: float) -> None:
        """Wait, with a client that does not wait long for a hanging broker."""
        hasty = ControllerConfig(self.client.config.url, read_timeout_s=5.0, retry=RetryPolicy(attempts=1))
        present, absent = names(self.present), names(self.gone)
        with ControllerClient(hasty) as client:
            wait_routed(client, self.table, present=present, absent=absent, timeout_s=timeout_s)

    def are_listed(self, count: int) -> bool:
        """Whether the table is on this number of brokers."""
        return len(self._urls()) == count

    def check(self, count: int) -> None:
        """Each broker answers only from the new segments."""
        urls = self._urls()
        assert len(urls) == count, urls
        for url in urls:
            with BrokerClient([url]) as broker:
                assert Content(broker, self.table).seen() == content_of(self.present)

    def _urls(self) -> list[str]:
        return list(self.client.cluster.broker_urls(self.table))


@pytest.fixture
def two_brokers(
    second_broker: BrokerProcess, client: ControllerClient, broker: BrokerClient, unique_table: str
) -> TwoBrokers:
    client.schemas.create(Schema.from_json(schema_document(unique_table)))
    tenants = {"tenants": {"broker": second_broker.tenant, "server": "DefaultTenant"}}
    client.tables.create(TableConfig.from_json({**table_document(unique_table), **tenants}))
    table = TableName(f"{unique_table}_OFFLINE")
    two = TwoBrokers(client, table, second_broker, Content(broker, table))
    wait_for(lambda: two.are_listed(2), "the table on both brokers")
    return two


def test_each_of_two_brokers_is_waited_for_also_one_that_stops(
    two_brokers: TwoBrokers, built: list[BuiltSegment]
) -> None:
    second = two_brokers.second
    two_brokers.replace(built[:2]).end()
    two_brokers.wait(300)
    two_brokers.check(2)

    pushed = two_brokers.replace(built[2:4])
    second.signal(signal.SIGSTOP)
    try:
        pushed.end()
        two_brokers.content.wait(built[2:4])  # the other one has noticed
        with pytest.raises(WaitTimeoutError, match=f":{second.ports[1]} does not answer"):
            two_brokers.wait(0)
    finally:
        second.signal(signal.SIGCONT)
    wait_for(lambda: two_brokers.are_listed(2), "both brokers")
    two_brokers.wait(300)
    two_brokers.check(2)


@FULL
def test_a_broker_that_dies_is_waited_for_until_it_is_no_longer_listed(
    two_brokers: TwoBrokers, built: list[BuiltSegment]
) -> None:
    second = two_brokers.second
    pushed = two_brokers.replace(built[:2])
    second.signal(signal.SIGKILL)
    second.wait_end()
    pushed.end()
    two_brokers.content.wait(built[:2])
    with pytest.raises(WaitTimeoutError, match=f":{second.ports[1]} does not answer: cannot connect"):
        two_brokers.wait(0)
    two_brokers.wait(300)
    two_brokers.check(1)


def test_a_table_without_segments(client: ControllerClient, table: TableName) -> None:
    wait_routed(client, table, present=(), absent=["some"], timeout_s=300)
    with pytest.raises(WaitTimeoutError, match="lacks 1 new ones"):
        wait_routed(client, table, present=["some"], absent=(), timeout_s=0)
