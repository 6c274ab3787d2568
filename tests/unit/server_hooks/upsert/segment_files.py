"""Files of a sealed segment with the columns of an upsert table, as Pinot writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from controller_client.upsert.columns import NIL, OFFSET, VALID_FROM, VALID_UNTIL

_MARKER = struct.Struct(">Q")
_HEAD = struct.Struct(">7i")
_PER_CHUNK = 1000


def write_segment(folder: Path, offsets: Sequence[int]) -> Path:
    """Write a segment whose rows have these offsets and no versions."""
    nothing = [NIL] * len(offsets)
    columns = {OFFSET: offsets, VALID_FROM: nothing, VALID_UNTIL: nothing}
    (folder / "v3").mkdir(parents=True)
    index, content = [], b""
    for name, values in columns.items():
        part = _MARKER.pack(0xDEADBEEFDEAFBEAD) + _raw(values)
        index += [
            f"{name}.forward_index.startOffset = {len(content)}",
            f"{name}.forward_index.size = {len(part)}",
        ]
        content += part
    (folder / "v3" / "columns.psf").write_bytes(content)
    (folder / "v3" / "index_map").write_text("\n".join(index))
    return folder


def _raw(values: Sequence[int]) -> bytes:
    chunks = -(-len(values) // _PER_CHUNK)
    data = _HEAD.size + 4 * chunks
    table = np.arange(chunks, dtype=">i4") * (8 * _PER_CHUNK) + data
    head = _HEAD.pack(2, chunks, _PER_CHUNK, 8, len(values), 0, _HEAD.size)
    return head + table.astype(">i4").tobytes() + np.array(values, ">i8").tobytes()
