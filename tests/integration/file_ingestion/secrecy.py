"""Searches for secrets wherever a run leaves traces."""

from __future__ import annotations

import contextlib
import gzip
import uuid
import zlib
from collections.abc import Iterator, Sequence

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.integration.file_ingestion.ingestion import IngestionTable, Ran
from tests.support.cluster import PinotCluster

_LOG_LINES = 100_000

# The file system of file: URIs ignores them, so a run succeeds with them.
SECRETS = {f"input.fs.prop.{name}": f"canary-{uuid.uuid4().hex}" for name in ("accessKey", "secretKey")}


def assert_hidden(
    pinot: PinotCluster, table: IngestionTable, runs: Sequence[Ran], secrets: Sequence[str] = ()
) -> None:
    """No secret is in what the runs wrote, in the minion's log, nor in any znode about the table.

    Those of these tests alone, :data:`SECRETS`, are in no other znode either. The table config holds the
    task's parameters, secrets included: that is Pinot's own place for them.
    """
    secrets = secrets or list(SECRETS.values())
    log = pinot.logs("minion", _LOG_LINES)
    for secret in secrets:
        assert secret not in log
        for ran in runs:
            assert secret not in ran.out + ran.err
    config = f"/{pinot.cluster_name}/PROPERTYSTORE/CONFIGS/TABLE/"
    found = [(path, text) for path, text in _znodes(pinot) if config not in path]
    assert any(table.name in text for _, text in found)
    for path, text in found:
        wanted = secrets if table.name in text else SECRETS.values()
        assert [secret for secret in wanted if secret in text] == [], path


def _znodes(pinot: PinotCluster) -> Iterator[tuple[str, str]]:
    """Return every znode of the cluster, including Helix' own, as text that begins with its path."""
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
