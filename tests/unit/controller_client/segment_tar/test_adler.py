from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from controller_client.segment_tar.adler import Adler


@given(st.lists(st.binary(max_size=300) | st.just(b"\xff" * 70_000), max_size=6))
def test_the_checksums_of_pieces_combine_to_that_of_the_whole(pieces: list[bytes]) -> None:
    joined = Adler.joined(Adler(piece) for piece in pieces)
    whole = b"".join(pieces)
    assert (joined.value, joined.size_bytes) == (zlib.adler32(whole), len(whole))
    updated = Adler()
    for piece in pieces:
        updated.update(piece)
    assert (updated.value, updated.size_bytes) == (joined.value, joined.size_bytes)
