from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.errors import ConfigError

RAW = st.text(min_size=1).filter(lambda raw: not raw.endswith(tuple(f"_{each}" for each in TableType)))
TYPES = st.sampled_from(list(TableType))


@given(RAW, TYPES)
def test_a_table_name_is_split_and_joined(raw: str, table_type: TableType) -> None:
    text = f"{raw}_{table_type}"
    name = TableName(text)
    assert (name, name.raw, name.type) == (text, raw, table_type)
    assert TableName.of(raw, table_type) == TableName.of(text, table_type) == name
    assert name.as_type(TableType.REALTIME).raw == raw


@given(RAW, TYPES)
def test_a_table_name_survives_copying_and_pickling(raw: str, table_type: TableType) -> None:
    name = TableName(f"{raw}_{table_type}")
    for same in (pickle.loads(pickle.dumps(name)), copy.deepcopy(name)):  # noqa: S301
        assert type(same) is TableName
        assert (same, same.raw, same.type) == (name, raw, table_type)
    assert json.loads(json.dumps({name: name})) == {str(name): str(name)}
    assert hash(name) == hash(f"{raw}_{table_type}")
    assert f"/{name}" == f"/{raw}_{table_type}"


@pytest.mark.parametrize("name", ["flights", "_OFFLINE", "flights_offline", ""])
def test_a_name_without_a_type_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="with type"):
        TableName(name)
    assert TableName.parse(name) is None


def test_a_name_of_the_other_type_is_refused() -> None:
    with pytest.raises(ConfigError, match="'flights_REALTIME' is a table of type REALTIME"):
        TableName.of("flights_REALTIME", TableType.OFFLINE)


def test_the_database_is_a_part_of_the_raw_name() -> None:
    name = TableName("sales.flights_OFFLINE")
    assert (name.database, name.raw) == ("sales", "sales.flights")
    assert TableName("flights_OFFLINE").database is None


@pytest.mark.parametrize("name", ["default.flights_OFFLINE", "Default.flights_OFFLINE", "flights_OFFLINE"])
def test_the_default_database_has_no_prefix(name: str) -> None:
    found = TableName(name)
    assert (found, found.raw, found.database) == ("flights_OFFLINE", "flights", None)
    assert TableName.of("default.flights", TableType.OFFLINE) == found
    assert TableName("defaults.flights_OFFLINE").database == "defaults"
    assert TableName("default.a.b_OFFLINE") == "default.a.b_OFFLINE", "Pinot refuses it"
    assert TableName("default_OFFLINE").raw == "default"


@given(st.text(min_size=1), st.integers(0, 20_000), st.integers(0, 10**9))
@example("a__b", 3, 12)
def test_a_stream_segments_name_is_parsed(raw: str, partition: int, sequence: int) -> None:
    text = f"{raw}__{partition}__{sequence}__20260101T0000Z"
    name = SegmentName.parse(text)
    assert name == SegmentName(partition, sequence, text)
    assert name.table == f"{raw}_REALTIME"


@pytest.mark.parametrize(
    "name", ["flights_0", "flights__0__1", "flights__a__1__t", "flights__0__a__t", "", "__0__1__t"]
)
def test_other_segment_names_are_none(name: str) -> None:
    assert SegmentName.parse(name) is None
