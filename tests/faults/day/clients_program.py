"""The ZooKeeper load of the pause hooks of many servers, as in a large cluster.

They read with the product's own code. There are no servers or Helix instances: the hooks watch the list of
paused tables, their ideal states, and the session of a server that does not exist. Answers each line of stdin
with the number of requests to ZooKeeper so far, and ends with stdin.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from contextlib import ExitStack

from benchmarks.zookeeper_load import CountedConnection, Fleet, World
from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore

_SESSIONS = 10
_BEGUN_PER_S = 10
"""New segments per second in the whole cluster."""


def main() -> None:
    address, cluster_name, servers, *tables = sys.argv[1:]
    requests: Counter[str] = Counter()
    clock = SystemClock()
    ended = threading.Event()
    with ExitStack() as at_end:
        stores = []
        for _ in range(_SESSIONS):
            store = PropertyStore(address, cluster_name)
            store.connection = CountedConnection(address, requests)
            at_end.callback(store.close)
            stores.append(store)
        world = World(stores[0], tables=0, servers=int(servers), segments=0)
        world.tables = [TableName(table) for table in tables]
        fleet = Fleet(world, stores, requests.copy, begun_per_s=_BEGUN_PER_S, clock=clock)
        began_s = clock.monotonic()

        def answer() -> None:
            for _ in sys.stdin:
                answer = {"requests": dict(requests), "seconds": clock.monotonic() - began_s}
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
            ended.set()

        threading.Thread(target=answer, daemon=True).start()
        while not ended.is_set():
            fleet.measure("day", 1)


if __name__ == "__main__":
    main()
