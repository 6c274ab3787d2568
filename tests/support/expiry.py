"""Ends ZooKeeper sessions of other processes, as ZooKeeper does after a timeout."""

from __future__ import annotations

import struct

from kazoo.client import KazooClient

from tests.support.wait import wait_for

_SERVERS_SECRET = 0xB3415C00
"""ZooKeeper derives a session's password from its id and this (ZooKeeperServer.generatePasswd)."""


def expire_owner(zookeeper_address: str, path: str) -> int:
    """End the session that owns an ephemeral znode; returns its id.

    Takes over the session by its id and password and closes it, so its client finds it expired.
    """
    watcher = KazooClient(hosts=zookeeper_address)
    watcher.start()
    try:
        stat = watcher.exists(path)
        assert stat is not None, f"{path} does not exist"
        session_id = stat.ephemeralOwner
        assert session_id, f"{path} is not ephemeral"
        taker = KazooClient(hosts=zookeeper_address, client_id=(session_id, _password(session_id)))
        taker.start()
        assert taker.client_id[0] == session_id, "ZooKeeper did not accept the session's password"
        taker.stop()
        taker.close()

        def gone() -> bool:
            now = watcher.exists(path)
            return now is None or now.ephemeralOwner != session_id

        wait_for(gone, f"the session of {path} to end")
    finally:
        watcher.stop()
        watcher.close()
    return int(session_id)


def expire_children(zookeeper_address: str, path: str) -> None:
    """End the sessions of all ephemeral znodes below a path."""
    watcher = KazooClient(hosts=zookeeper_address)
    watcher.start()
    try:
        names = watcher.get_children(path) if watcher.exists(path) else []
    finally:
        watcher.stop()
        watcher.close()
    for name in names:
        expire_owner(zookeeper_address, f"{path}/{name}")


def _password(session_id: int) -> bytes:
    """Return the result of Java's ``new Random(session_id ^ secret).nextBytes(16)``."""
    mask, factor = (1 << 48) - 1, 0x5DEECE66D
    seed = ((session_id ^ _SERVERS_SECRET) ^ factor) & mask
    words = []
    for _ in range(4):
        seed = (seed * factor + 0xB) & mask
        words.append(seed >> 16 & 0xFFFFFFFF)
    return struct.pack("<4I", *words)
