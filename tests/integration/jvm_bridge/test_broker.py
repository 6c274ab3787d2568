"""Pinot's broker hosted in Python, compared with the cluster's stock one."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.integration.jvm_bridge import raising_hook
from tests.integration.jvm_bridge.brokers import BrokerProcess
from tests.integration.jvm_bridge.servers import HOST, config_of, with_path
from tests.support.cluster import PinotCluster
from tests.support.service import Program
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

MakeBroker = Callable[..., BrokerProcess]


@pytest.fixture(scope="module")
def make_broker(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeBroker]:
    """Return a function that creates hosted brokers, not started yet; they are removed after the tests."""
    made: list[BrokerProcess] = []
    tenant = f"b_{uuid.uuid4().hex[:8]}"
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:

        def make(**settings: object) -> BrokerProcess:
            folder = tmp_path_factory.mktemp("broker")
            broker = BrokerProcess(pinot, store, folder, Program.PINOTCTL, tenant, **settings)  # type: ignore[arg-type]
            broker.register()
            made.append(broker)
            return broker

        yield make
        for broker in made:
            broker.remove()


def _answer(url: str) -> object:
    with BrokerClient([url]) as broker:
        result = broker.query("select 1 + 1 from nowhere")
    return result.columns, result.rows


def _fields(config: ZNRecord) -> tuple[list[str], object, object]:
    lists = {key: values for key, values in config.list_fields.items() if key != "TAG_LIST"}
    # A broker that was registered has a flag of its own before it joins.
    return (
        sorted(config.simple_fields.keys() - {"HELIX_ENABLED", "HELIX_ENABLED_TIMESTAMP"}),
        lists,
        config.map_fields,
    )


def test_it_looks_and_ends_like_a_stock_broker(make_broker: MakeBroker) -> None:
    hosted = make_broker()
    hosted.start()
    hosted.wait_ready()
    pinot, store = hosted.pinot, hosted.store
    assert _fields(hosted.config()) == _fields(config_of(store, pinot.broker_instance))
    assert hosted.config().list_fields["TAG_LIST"] == [f"{hosted.tenant}_BROKER"]
    assert _answer(f"http://{HOST}:{hosted.ports[1]}") == _answer(pinot.broker_url)
    assert f"{hosted.instance} runs with the hooks upsert" in hosted.log
    hosted.signal(signal.SIGTERM)
    assert hosted.wait_end() == 128 + signal.SIGTERM
    assert not hosted.is_live()
    assert "Finish shutting down Pinot broker" in hosted.log


@FULL
@pytest.mark.parametrize(
    ("hook", "text"),
    [("raises-in-broker", "before the start"), ("not-for-brokers", "while it was created")],
)
def test_it_does_not_start_without_a_hook(
    make_broker: MakeBroker, tmp_path: Path, hook: str, text: str
) -> None:
    """Its results would be wrong."""
    raising_hook.install(tmp_path)
    broker = make_broker(environment=with_path(tmp_path), options=(f"--hook={hook}",))
    broker.start()
    assert broker.wait_end() == 1, broker.log[-3000:]
    assert f"the hook {hook} failed {text}" in broker.log
    assert not broker.is_live()


@FULL
@pytest.mark.parametrize(
    ("text", "code", "arguments", "properties"),
    [
        ("Unknown option: '-noSuchOption'", 2, ("-noSuchOption",), {}),
        ("does not start", 1, None, {"pinot.cluster.name": "NoSuchCluster"}),
    ],
    ids=["argument", "no cluster"],
)
def test_a_start_that_fails(
    make_broker: MakeBroker,
    text: str,
    code: int,
    arguments: tuple[str, ...] | None,
    properties: dict[str, str],
) -> None:
    broker = make_broker(properties=properties)
    broker.start(arguments)
    assert broker.wait_end() == code, broker.log[-3000:]
    assert text in broker.log
    assert not broker.is_live()
