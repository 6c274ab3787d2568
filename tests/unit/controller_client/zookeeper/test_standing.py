"""The list of leases and locks, and of the processes in line for them."""

from controller_client.zookeeper import LockHolder, read_standing
from tests.unit.memory_zookeeper import memory_store

A, B, C = ("a" * 32, "b" * 32, "c" * 32)


def test_each_line_has_its_holder_first() -> None:
    store, zookeeper = memory_store()
    first, second = LockHolder("p1", "h1", 1, 5.0), LockHolder("p2", "h2", 2, 6.0)
    root = "/c/PINOT_PLUGINS"
    # Sorted by number, not by name.
    zookeeper.create(f"{root}/leases/scheduler/{B}-0000000007", first.to_json().encode())
    zookeeper.create(f"{root}/leases/scheduler/{A}-0000000008", second.to_json().encode())
    zookeeper.create(f"{root}/locks/as_code/{C}__lock__0000000000", b'{"format": 2}')
    zookeeper.create(f"{root}/locks/t_REALTIME/UpsertCoordinator/{C}__lock__0000000003", b"no JSON")
    zookeeper.create(f"{root}/locks/u_OFFLINE/FileIngestionTask", b"")
    found = [(each.kind, each.name, each.state, each.holder) for each in read_standing(store)]
    assert found == [
        ("lease", "scheduler", "holds", first),
        ("lease", "scheduler", "stands_by", second),
        ("lock", "as_code", "holds", None),
        ("lock", "t_REALTIME/UpsertCoordinator", "holds", None),
    ]
    numbers = [each.number for each in read_standing(store)]
    assert numbers[:2] == sorted(numbers[:2])


def test_a_cluster_without_leases_and_locks() -> None:
    store, _ = memory_store()
    assert read_standing(store) == []
