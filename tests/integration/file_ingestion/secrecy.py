"""Searches for secrets wherever a run leaves traces."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator, Sequence

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.integration.file_ingestion.ingestion import Ran
from tests.support.cluster import PinotCluster

_LOG_LINES = 100_000


def assert_hidden(pinot: PinotCluster, secrets: Sequence[str], *runs: Ran) -> None:
    """No secret is in what the runs wrote, in the minion's log, nor in any znode but the table configs.

    The table config holds the task's parameters, secrets included: that is Pinot's own place for them.
    """
    for secret in secrets:
        for ran in runs:
            assert secret not in ran.out
            assert secret not in ran.err
        assert secret not in pinot.logs("minion", _LOG_LINES)
    seen = 0
    for path, text in _znodes(pinot):
        seen += 1
        if f"/{pinot.cluster_name}/PROPERTYSTORE/CONFIGS/TABLE/" not in path:
            assert [secret for secret in secrets if secret in text] == [], path
    assert seen > 100


def _znodes(pinot: PinotCluster) -> Iterator[tuple[str, str]]:
    """Return every znode of the cluster, including Helix' own, as text."""
    client = KazooClient(hosts=pinot.zookeeper_address)
    client.start(timeout=300)
    try:
        todo = [f"/{pinot.cluster_name}"]
        while todo:
            path = todo.pop()
            try:
                data, _ = client.get(path)
                todo.extend(f"{path}/{name}" for name in client.get_children(path))
            except NoNodeError:
                continue
            yield path, path + _text(data or b"")
    finally:
        client.stop()
        client.close()


def _text(data: bytes) -> str:
    with contextlib.suppress(OSError, EOFError, zlib.error):
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")
