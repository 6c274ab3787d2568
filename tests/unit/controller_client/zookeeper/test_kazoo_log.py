"""kazoo's log at its most detailed level."""

from __future__ import annotations

import logging

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.serialization import Auth, Create, SetData, Transaction
from kazoo.protocol.states import ZnodeStat

from controller_client.zookeeper import ZooKeeperConnection


def test_contents_of_znodes_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    ZooKeeperConnection("127.0.0.1:1")
    caplog.set_level(1)
    caplog.set_level(1, logger="kazoo")
    log = KazooClient("127.0.0.1:1").logger
    stat = ZnodeStat(*range(11))
    secret = b"hush"
    # As kazoo's connection logs them.
    log.debug("Sending request(xid=%s): %s", 1, Create("/a", secret, (), 0))
    log.debug("Sending request(xid=%s): %s", 2, Transaction([SetData("/a", secret, 3)]))
    log.debug("Sending request(xid=%s): %s", 3, Auth(0, "digest", "me:hush"))
    log.debug("Received response(xid=%s): %r", 4, (secret, stat))
    log.log(5, "    Using session_id: %r session_passwd: %s", 7, secret)
    assert "hush" not in caplog.text
    assert "Create(path='/a', data='<4 bytes>', acl=(), flags=0)" in caplog.text
    assert "/a" in caplog.text
    assert [record.levelno for record in caplog.records] == [*[logging.DEBUG] * 4, 5]
