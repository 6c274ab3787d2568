from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from spark_connectors.write.splitting import cut


def batches_of(sizes: list[int]) -> list[pa.RecordBatch]:
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return [
        pa.RecordBatch.from_pydict({"n": pa.array(range(start, start + size), pa.int64())})
        for start, size in zip(starts, sizes, strict=True)
    ]


def segments_of(sizes: list[int], max_rows: int, max_bytes: int) -> list[list[pa.RecordBatch]]:
    return [list(segment) for segment in cut(iter(batches_of(sizes)), max_rows=max_rows, max_bytes=max_bytes)]


@given(
    sizes=st.lists(st.integers(0, 40)),
    max_rows=st.integers(1, 60),
    max_bytes=st.integers(1, 400) | st.just(10**9),
)
def test_segments_have_the_expected_sizes(sizes: list[int], max_rows: int, max_bytes: int) -> None:
    segments = segments_of(sizes, max_rows, max_bytes)
    rows = [number for segment in segments for batch in segment for number in batch["n"].to_pylist()]
    assert rows == list(range(sum(sizes)))
    for number, segment in enumerate(segments):
        count = sum(batch.num_rows for batch in segment)
        assert 1 <= count <= max_rows
        # A segment continues until it reaches one of the limits, and no longer.
        assert sum(batch.nbytes for batch in segment[:-1]) < max_bytes
        if number < len(segments) - 1:
            assert count == max_rows or sum(batch.nbytes for batch in segment) >= max_bytes


def test_batches_are_consumed_lazily() -> None:
    taken: list[int] = []

    def watched() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches_of([10, 10, 10, 10])):
            taken.append(number)
            yield batch

    segments = cut(watched(), max_rows=20, max_bytes=10**9)
    assert not taken
    assert [batch.num_rows for batch in next(segments)] == [10, 10]
    assert taken == [0, 1]
