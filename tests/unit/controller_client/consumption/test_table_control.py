"""The name of the table that is observed and controlled."""

from __future__ import annotations

from typing import cast

import pytest

from controller_client.common.names import TableName
from controller_client.consumption import TableControl
from controller_client.errors import ConfigError
from tests.unit.controller_client.consumption.worlds import TABLE, World


def test_a_plain_string_is_parsed() -> None:
    world = World()
    control = TableControl(world.client, world.store, cast("TableName", str(TABLE)))
    assert type(control.table) is TableName
    assert control.table == TABLE


@pytest.mark.parametrize(
    ("name", "words"), [("t_OFFLINE", "does not consume a stream"), ("t", "not a table name with type")]
)
def test_anything_but_a_realtime_table_is_refused(name: str, words: str) -> None:
    world = World()
    with pytest.raises(ConfigError, match=words):
        TableControl(world.client, world.store, cast("TableName", name))
