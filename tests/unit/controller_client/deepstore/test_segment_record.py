"""What a segment's record says."""

from __future__ import annotations

import pytest

from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.zookeeper import Versioned, ZNRecord
from tests.unit.controller_client.deepstore.samples import TABLE


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "-1", "1.0", ""])
def test_numbers_that_are_none_are_unknown(number: str) -> None:
    fields = dict.fromkeys(("segment.crc", "segment.data.crc", "segment.size.in.bytes"), number)
    record = SegmentRecord.of(TABLE, "s", Versioned(ZNRecord("s", fields), 0))
    assert (record.crc, record.data_crc, record.size_bytes) == (None, None, None)
