from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_connectors.read.plan import SegmentToRead, ServerAddress, has_no_tar, split

SERVERS = [ServerAddress(f"Server_{n}", "localhost", n, n) for n in range(1, 5)]


@given(
    replicas=st.lists(st.sets(st.sampled_from(SERVERS), min_size=1), max_size=40),
    per_group=st.integers(1, 6),
)
def test_each_segment_is_in_one_group_of_a_server_that_serves_it(
    replicas: list[set[ServerAddress]], per_group: int
) -> None:
    segments = [
        SegmentToRead(f"s{n:02d}", tuple(sorted(servers, key=lambda each: each.name)), False)
        for n, servers in enumerate(replicas)
    ]
    groups = split(segments, per_group)
    assert sorted(each.name for group in groups for each in group) == [each.name for each in segments]
    by_name = {each.name: each for each in segments}
    for group in groups:
        assert len(group) <= per_group
        assert len({each.servers[0] for each in group}) == 1
        for each in group:
            assert set(each.servers) == set(by_name[each.name].servers)


def test_servers_get_equal_shares() -> None:
    segments = [SegmentToRead(f"s{n}", tuple(SERVERS), False) for n in range(9)]
    assert sorted(len(group) for group in split(segments, 9)) == [2, 2, 2, 3]


@pytest.mark.parametrize(
    ("wanted", "serving", "expected"),
    [
        ("CONSUMING", ["CONSUMING", "CONSUMING"], True),
        ("CONSUMING", [], True),
        ("ONLINE", ["ONLINE", "ONLINE"], False),
        # Its last rows were consumed, but no server has built it yet.
        ("ONLINE", ["CONSUMING", "CONSUMING"], True),
        ("ONLINE", ["CONSUMING", "ONLINE"], False),
        # Its servers are down, but the store may have it.
        ("ONLINE", [], False),
    ],
)
def test_a_segment_without_a_tar_is_read_from_servers(
    wanted: str, serving: list[str], expected: bool
) -> None:
    ideal = {"Server_1": wanted, "Server_2": wanted}
    assert has_no_tar(ideal, {f"Server_{n}": state for n, state in enumerate(serving, 1)}) is expected
