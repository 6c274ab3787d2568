from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_connectors.read.plan import SegmentToRead, ServerAddress, split

SERVERS = [ServerAddress(f"Server_{n}", "localhost", n, n) for n in range(1, 5)]


@given(
    replicas=st.lists(st.sets(st.sampled_from(SERVERS), min_size=1), max_size=40),
    per_group=st.integers(1, 6),
)
def test_each_segment_is_in_one_group_of_a_server_that_has_it(
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
