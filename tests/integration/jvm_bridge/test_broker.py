"""Pinot's broker hosted in Python, compared with a stock one."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from controller_client.zookeeper import PropertyStore
from tests.integration.jvm_bridge import raising_hook
from tests.integration.jvm_bridge.brokers import BrokerProcess
from tests.integration.jvm_bridge.servers import HOST, JAVA_OPTS, with_path
from tests.support.cluster import PinotCluster
from tests.support.service import Program

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

MakeBroker = Callable[..., BrokerProcess]


@pytest.fixture(scope="module")
def make_broker(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeBroker]:
    """Return a function that creates brokers, not started yet; they are removed after the tests."""
    made: list[BrokerProcess] = []
    tenant = f"b_{uuid.uuid4().hex[:8]}"
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:

        def make(program: Program, **settings: object) -> BrokerProcess:
            folder = tmp_path_factory.mktemp(f"{program}-broker")
            broker = BrokerProcess(pinot, store, folder, program, tenant, **settings)  # type: ignore[arg-type]
            broker.register()
            made.append(broker)
            return broker

        yield make
        for broker in made:
            broker.remove()


def _answer(broker: BrokerProcess) -> object:
    url = f"http://{HOST}:{broker.ports[1]}/query/sql"
    answer = requests.post(url, json={"sql": "select 1 + 1 from nowhere"}, timeout=300)
    return answer.json().get("resultTable")


def test_it_looks_and_ends_like_a_stock_broker(make_broker: MakeBroker) -> None:
    stock, hosted = make_broker(Program.PINOT), make_broker(Program.PINOTCTL)
    brokers = (stock, hosted)
    for broker in brokers:
        broker.start()
    for broker in brokers:
        broker.wait_ready()
    configs = [broker.config() for broker in brokers]
    keys = [(sorted(c.simple_fields), c.list_fields, c.map_fields) for c in configs]
    assert keys[0] == keys[1]
    assert _answer(stock) == _answer(hosted)
    assert f"{hosted.instance} runs with the hooks upsert" in hosted.log
    for broker in brokers:
        broker.signal(signal.SIGTERM)
    assert [broker.wait_end() for broker in brokers] == [128 + signal.SIGTERM] * 2
    assert not hosted.is_live()
    assert "Finish shutting down Pinot broker" in hosted.log


def test_starts_that_fail(make_broker: MakeBroker, tmp_path: Path) -> None:
    raising_hook.install(tmp_path)
    for text, code, settings, arguments in (
        ("Unknown option: '-noSuchOption'", 2, {}, ("-noSuchOption",)),
        ("does not start", 1, {"properties": {"pinot.cluster.name": "NoSuchCluster"}}, None),
        # Its results would be wrong without the hook.
        (
            "the hook raises-in-broker failed before the start",
            1,
            {"environment": with_path(tmp_path), "options": ("--hook=raises-in-broker",)},
            None,
        ),
        (
            "the hook not-for-brokers failed while it was created",
            1,
            {"environment": with_path(tmp_path), "options": ("--hook=not-for-brokers",)},
            None,
        ),
    ):
        broker = make_broker(Program.PINOTCTL, **settings)
        broker.java_opts = JAVA_OPTS
        broker.start(arguments)
        assert broker.wait_end() == code, broker.log[-3000:]
        assert text in broker.log
        assert not broker.is_live()
