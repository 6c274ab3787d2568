"""The pauses between attempts to connect to ZooKeeper."""

from kazoo.retry import ForceRetryError

from controller_client.zookeeper.session import KazooSession
from tests.unit.fake_clock import FakeClock


def test_after_a_long_outage_the_server_is_found_soon() -> None:
    client = KazooSession("127.0.0.1:1", None, 10.0, FakeClock())._make_client()
    retry = client._conn_retry.copy()
    pauses: list[float] = []
    retry.sleep_func, retry.interrupt = pauses.append, None

    def connect() -> str:
        if len(pauses) < 50:
            raise ForceRetryError
        return "connected"

    assert retry(connect) == "connected"
    assert max(pauses) <= 2.0 * 1.4  # with kazoo's jitter
