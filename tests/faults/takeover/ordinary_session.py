"""Owns an ephemeral znode in a session with the usual timeout and frequent heartbeats, until it is killed."""

from __future__ import annotations

import sys
import time

from controller_client.zookeeper import ZooKeeperConnection


def main() -> None:
    address, path = sys.argv[1:]
    with ZooKeeperConnection(address) as connection:
        connection.kazoo().create(path, b"", ephemeral=True, makepath=True)
        sys.stdout.write("held\n")
        sys.stdout.flush()
        while True:
            connection.exists(path)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
