"""Tables with Pinot's own upsert or dedup."""

from __future__ import annotations

from typing import Any

import pytest

from controller_client.consumption import pause
from controller_client.consumption.own_upsert import upsert_warnings
from controller_client.consumption.pause_record import Holder, PauseRecord, change_record, read_record
from controller_client.errors import RejectedError
from controller_client.models import TableConfig
from tests.unit.controller_client.consumption.worlds import TABLE, World, segment


def config(replicas: int = 1, **parts: Any) -> TableConfig:
    return TableConfig.from_json(
        {
            "tableName": TABLE,
            "tableType": "REALTIME",
            "segmentsConfig": {"replication": str(replicas)},
            **parts,
        }
    )


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, []),
        ({"upsertConfig": {"mode": "NONE"}, "dedupConfig": None}, []),
        ({"upsertConfig": {"mode": "FULL"}, "dedupConfig": {"dedupEnabled": False}}, []),
        (
            {"upsertConfig": {"mode": "FULL", "dropOutOfOrderRecord": True}},
            ["upsert with dropOutOfOrderRecord: Pinot 1.5 and later refuse"],
        ),
        (
            {"upsertConfig": {"mode": "FULL", "outOfOrderRecordColumn": "late"}},
            ["upsert with outOfOrderRecordColumn: Pinot 1.5 and later refuse"],
        ),
        (
            {"upsertConfig": {"mode": "partial"}},
            ["partial upsert: Pinot 1.5 and later refuse", "partial upsert: rows that are read again"],
        ),
        ({"dedupConfig": {"hashFunction": "NONE"}}, ["dedup: rows that are read again"]),
    ],
)
def test_warnings_about_forced_commits(parts: dict[str, Any], words: list[str]) -> None:
    found = upsert_warnings(config(**parts))
    assert [text.startswith(word) for text, word in zip(found, words, strict=True)] == [True] * len(words)


def test_replicas_may_differ() -> None:
    found = upsert_warnings(config(3, upsertConfig={"mode": "PARTIAL"}))
    assert any("partial upsert with 3 replicas" in text for text in found)


def test_a_pause_that_pinot_refuses_leaves_no_name_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.ideal({segment(0, 0): "CONSUMING"})
    other = PauseRecord({"block": Holder("other", world.control.now_ms())})
    change_record(world.store, TABLE, lambda _present: other)

    def refuse(*_args: Any, **_options: Any) -> None:
        raise RejectedError("Pinot refuses forced commits of t_REALTIME")

    monkeypatch.setattr(world.client.consumption, "pause", refuse)
    with pytest.raises(RejectedError, match="refuses forced commits"):
        pause(world.control)
    assert read_record(world.store, TABLE) == other
