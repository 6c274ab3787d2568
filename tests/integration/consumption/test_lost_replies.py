"""Lost requests to the controller, and lost replies: the state is read again before work continues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.consumption import ConsumeFrom, TableState, pause, resume
from controller_client.consumption.change_stream import change_stream
from tests.integration.consumption.conftest import MakeTable
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


@pytest.fixture
def proxy(pinot: PinotCluster) -> Iterator[FaultyHttp]:
    with FaultyHttp(pinot.controller_url) as proxy:
        yield proxy


def test_lost_replies_and_lost_requests(make_stream_table: MakeTable, proxy: FaultyHttp) -> None:
    table = make_stream_table(partitions=2)
    table.produce(20)
    table.wait_rows()
    with ControllerClient(ControllerConfig(proxy.url)) as client:
        control = table.control(client)
        path = f"tables/{table.table}"

        # The reply is lost: the ideal state shows that the request was applied, so it is not repeated.
        proxy.drop_reply("POST", f"{path}/pauseConsumption")
        pause(control, timeout_s=300)
        assert proxy.count("POST", f"{path}/pauseConsumption") == 1
        assert control.status().state is TableState.PAUSED
        table.produce(20)

        proxy.drop_reply("POST", f"{path}/resumeConsumption")
        resume(control, timeout_s=300)
        table.wait_rows()

        # The request is lost: after a while the ideal state shows that, and the request is repeated. So is
        # the forced commit of an open segment.
        proxy.drop_request("POST", f"{path}/pauseConsumption")
        proxy.drop_request("POST", f"{path}/forceCommit")
        pause(control, timeout_s=300)
        assert proxy.count("POST", f"{path}/pauseConsumption") == 3
        assert control.status().state is TableState.PAUSED

        # The controller returns an error: it may or may not have set the flag.
        proxy.answer(500, "POST", f"{path}/resumeConsumption", times=1)
        resume(control, timeout_s=300)

        new = table.new_topic(2)
        table.produce(20, topic=new)
        proxy.drop_reply("PUT", path)
        change_stream(
            control,
            {"stream.kafka.topic.name": new.name},
            consume_from=ConsumeFrom.SMALLEST,
            timeout_s=300,
            report=lambda _text: None,
        )
        assert proxy.count("PUT", path) == 1
    table.wait_rows()
