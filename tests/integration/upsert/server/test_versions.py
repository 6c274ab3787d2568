"""What queries see of upsert tables on hosted servers: at each version the rows of the model."""

from __future__ import annotations

import pytest

from controller_client.errors import PinotPluginError
from controller_client.upsert.columns import NIL
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.wait import wait_for


def test_rows_know_their_offsets_and_versions_replace_them(make_upsert_table: MakeUpsertTable) -> None:
    table = make_upsert_table()
    # Rows, messages that Pinot cannot read, tombstones, and transactions of which one is aborted.
    table.produce(0, [f"k{n}" for n in range(20)])
    table.produce_raw(0, b"{not json")
    table.produce_transaction(0, ["k1", "k2"], commit=True)
    table.produce_transaction(0, ["k3"], commit=False)
    table.produce(0, ["k1", "k4"])
    table.produce(1, [f"k{n}" for n in range(10, 30)])
    table.produce(1, ["k0", "k0", "k0"], ts_step=-1)
    table.produce_transaction(1, ["k5"], commit=True)
    first = table.model.coordinate()
    assert first == 0
    table.wait_checked(first)
    expected = table.readable(0)
    assert len(expected) == 24
    assert expected[-1] > 24  # what cannot be read, was aborted or ends a transaction takes an offset
    assert table.all_rows("part = 0") == [(0, offset) for offset in expected]

    table.produce_raw(1, None, key="k7")
    table.produce(0, ["k8", "new"])
    second = table.model.coordinate()
    table.wait_checked(second)
    # The version before is still there, whole.
    assert table.visible(first) == sorted(table.model.visible[first])
    assert table.visible(second) != table.visible(first)
    # Said again, and later: the first time counts.
    table.model.repeat(second, {0: [0, 1, 21], 1: [0, 1]})
    third = table.model.coordinate()
    table.wait_mark(third)
    assert table.visible(first) == sorted(table.model.visible[first])


def test_a_server_refuses_a_version_that_is_not_complete_there(
    make_upsert_table: MakeUpsertTable,
) -> None:
    """As a broker asks that took the version while the server was away."""
    table = make_upsert_table()
    # Pinot leaves out segments that have no row, and those whose values exclude a condition, before all else.
    refused = f"complete up to version {NIL} of {table.full_name}"
    wait_for(lambda: refused in _answer(table, 0), "the broker to ask servers")
    table.produce(0, ["k1", "k2", "k1"])
    first = table.model.coordinate()
    table.wait_checked(first)
    with pytest.raises(PinotPluginError, match=f"complete up to version {first} of {table.full_name}"):
        table.visible(first + 1)
    table.produce(0, ["k2"])
    second = table.model.coordinate()
    # Asked at once: the first answer that comes is right.
    found = wait_for(lambda: table.visible(second), f"an answer at version {second}")
    assert found == sorted(table.model.visible[second])


def _answer(table: UpsertTable, version: int) -> str:
    """What a query of a version sees, or why it is refused; nothing before the broker knows the segments."""
    try:
        return str(table.visible(version))
    except PinotPluginError as error:
        return str(error)
