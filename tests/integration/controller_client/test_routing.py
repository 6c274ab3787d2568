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
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


def test_after_the_wait_queries_see_the_replacement(
    client: ControllerClient,
    table: TableName,
    content: Content,
    built: list[BuiltSegment],
    filled: list[BuiltSegment],
) -> None:
    new = built[2:5]
    with SegmentReplacement(client, table, names(filled), names(new)):
        for segment in new:
            client.segments.upload_tar(table, segment.tar)
        with pytest.raises(WaitTimeoutError, match="queries 2 old segments and lacks 3 new ones"):
            wait_routed(client, table, present=names(new), absent=names(filled), timeout_s=0)
    wait_routed(client, table, present=names(new), absent=names(filled), timeout_s=300)
    assert content.seen() == content_of(new)


def test_a_broker_that_was_not_notified_is_asked_to_rebuild_its_routing(
    pinot: PinotCluster,
    client: ControllerClient,
    table: TableName,
    content: Content,
    built: list[BuiltSegment],
    filled: list[BuiltSegment],
) -> None:
    """A controller that died after it completed the entry and before it notified the brokers."""
    new = built[2:5]
    entry_id = client.lineage.start(table, names(filled), names(new))
    push(client, table, new)
    client.segments.wait_online(table, names(new), 300)
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        path = f"/SEGMENT_LINEAGE/{table}"
        found = store.get(path)
        assert found is not None
        before = found.record.list_fields
        words = ["COMPLETED" if word == "IN_PROGRESS" else word for word in before[entry_id]]
        lists = {**before, entry_id: words}
        store.set(path, replace(found.record, list_fields=lists), found.version)
    with pytest.raises(WaitTimeoutError, match="queries 2 old segments and lacks 3 new ones"):
        wait_routed(client, table, present=names(new), absent=names(filled), timeout_s=1)
    wait_routed(client, table, present=names(new), absent=names(filled), timeout_s=300)
    assert content.seen() == content_of(new)


@pytest.fixture
def second_broker(pinot: PinotCluster, client: ControllerClient, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A stock broker in addition to the cluster's, in a tenant that consists of both."""
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        broker = BrokerProcess(
            pinot, store, tmp_path / "broker", Program.PINOT, f"two_{uuid.uuid4().hex[:8]}"
        )
        # Long enough for a broker that is stopped for some seconds to stay listed.
        broker.java_opts = re.sub(r"timeout=\d+", "timeout=12000", JAVA_OPTS)
        broker.register()
        before = client.instances.tags(pinot.broker_instance)
        client.instances.set_tags(pinot.broker_instance, [*before, f"{broker.tenant}_BROKER"])
        broker.start()
        broker.wait_ready()
        yield broker
        client.instances.set_tags(pinot.broker_instance, before)
        broker.remove()


@dataclass
class TwoBrokers:
    """A table on two brokers, the second of which will have faults."""

    client: ControllerClient
    table: TableName
    second: BrokerProcess
    built: list[BuiltSegment]
    present: list[BuiltSegment] = field(default_factory=list)
    gone: list[BuiltSegment] = field(default_factory=list)

    def replace(self, new: list[BuiltSegment]) -> None:
        with SegmentReplacement(self.client, self.table, names(self.present), names(new)):
            for segment in new:
                self.client.segments.upload_tar(self.table, segment.tar)
        self.gone, self.present = self.present, new

    def wait(self, timeout_s: float) -> None:
        """Wait, with a client that does not wait long for a hanging broker."""
        hasty = ControllerConfig(self.client.config.url, read_timeout_s=1.0, retry=RetryPolicy(attempts=1))
        present, absent = names(self.present), names(self.gone)
        with ControllerClient(hasty) as client:
            wait_routed(client, self.table, present=present, absent=absent, timeout_s=timeout_s)

    def has_second(self) -> bool:
        """Whether the table is listed on the second broker."""
        return any(url.endswith(f":{self.second.ports[1]}") for url in self._urls())

    def check(self, *, with_second: bool) -> None:
        """Each broker answers only from the new segments."""
        assert self.has_second() == with_second
        for url in self._urls():
            with BrokerClient([url]) as broker:
                assert Content(broker, self.table).seen() == content_of(self.present)

    def _urls(self) -> list[str]:
        return list(self.client.cluster.broker_urls(self.table))


@pytest.fixture
def two_brokers(
    second_broker: BrokerProcess, client: ControllerClient, unique_table: str, built: list[BuiltSegment]
) -> TwoBrokers:
    client.schemas.create(Schema.from_json(schema_document(unique_table)))
    tenants = {"tenants": {"broker": second_broker.tenant, "server": "DefaultTenant"}}
    client.tables.create(TableConfig.from_json({**table_document(unique_table), **tenants}))
    two = TwoBrokers(client, TableName(f"{unique_table}_OFFLINE"), second_broker, built)
    wait_for(two.has_second, "the table on both brokers")
    return two


def test_each_of_two_brokers_is_waited_for_also_one_that_stops_and_one_that_dies(
    two_brokers: TwoBrokers,
) -> None:
    built, second = two_brokers.built, two_brokers.second
    two_brokers.replace(built[:2])
    two_brokers.wait(300)
    two_brokers.check(with_second=True)

    second.signal(signal.SIGSTOP)
    try:
        two_brokers.replace(built[2:4])
        with pytest.raises(WaitTimeoutError, match=f":{second.ports[1]} does not answer"):
            two_brokers.wait(0.5)
    finally:
        second.signal(signal.SIGCONT)
    two_brokers.wait(300)
    wait_for(two_brokers.has_second, "both brokers")
    two_brokers.check(with_second=True)

    second.signal(signal.SIGKILL)
    second.wait_end()
    two_brokers.replace(built[4:6])
    with pytest.raises(WaitTimeoutError, match=f":{second.ports[1]} does not answer: cannot connect"):
        two_brokers.wait(0.5)
    two_brokers.wait(300)
    two_brokers.check(with_second=False)


def test_a_table_without_segments(client: ControllerClient, table: TableName) -> None:
    wait_routed(client, table, present=(), absent=["some"], timeout_s=300)
    with pytest.raises(WaitTimeoutError, match="lacks 1 new ones"):
        wait_routed(client, table, present=["some"], absent=(), timeout_s=0)
