"""Numbers, sizes, periods, names, addresses and queries that are given as text."""

from __future__ import annotations

from contextlib import suppress

from controller_client.common import parsing
from controller_client.common.formats import Format
from controller_client.common.names import SegmentName, TableName
from controller_client.common.sql_text import is_whole, statements, table_names
from controller_client.config import ControllerConfig
from controller_client.errors import PinotPluginError
from controller_client.models.epoch_format import EpochFormat
from controller_client.segment_tar import file_name_of
from controller_client.upsert.rewriting import options_in, rewrite
from controller_client.zookeeper.address import parse_hosts

_FORMAT = Format("the record")
_OPTIONS = (
    parsing.text,
    parsing.boolean,
    parsing.count,
    parsing.count_or_all,
    parsing.period_s,
    parsing.size_bytes,
)


def parse(data: bytes) -> None:
    text = data.decode(errors="replace")
    number = parsing.whole_number(text, signed=True)
    assert number is None or -(2**63) <= number < 2**63
    assert parsing.whole_number(data, signed=True) == number or not data.isascii()
    for option in _OPTIONS:
        with suppress(ValueError):
            option(text)
    segment, table = SegmentName.parse(text), TableName.parse(text)
    assert segment is None or str(segment.partition) in text
    assert table is None or table.raw
    for read in (
        lambda: _FORMAT.check({"format": text}, "here"),
        lambda: ControllerConfig(text),
        lambda: rewrite(text, {"t": 7}.get),
        lambda: options_in(text),
        lambda: table_names(text),
        lambda: statements(text),
        lambda: is_whole(text),
        lambda: file_name_of(text),
        lambda: parse_hosts(text),
        lambda: EpochFormat.parse(text),
    ):
        with suppress(PinotPluginError):
            read()
