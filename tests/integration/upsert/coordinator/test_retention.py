"""The key coordinator and the retention of its table: of the updates topic, and of keys."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest
from confluent_kafka.admin import AdminClient

from controller_client.models import TableConfig
from controller_client.upsert.update_message import VersionRecord, decode_any
from tests.integration.upsert.coordinator.conftest import CheckedTable, MakeTable
from tests.integration.upsert.coordinator.topics import read_topic
from tests.support.kafka_topics import Topic, wait_for_setting
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 300.0
_DAY_MS = 86_400_000
_OLD_MS, _NEW_MS = 650_000_000_000, 1_700_000_000_000
"""Before and after the beginning of the retention."""
_ROWS_PER_SEGMENT = 20


def _wait_for_retention(table: CheckedTable, days: int) -> None:
    """Wait until the updates topic has a retention."""
    admin = AdminClient({"bootstrap.servers": table.kafka.bootstrap})
    wait_for_setting(admin, table.updates_topic, "retention.ms", str(days * _DAY_MS))


def _keep_days(table: CheckedTable, days: int) -> None:
    """Change the table's retention, as through Pinot's own API."""
    config = table.client.tables.get(table.full_name).to_json()
    config["segmentsConfig"]["retentionTimeValue"] = str(days)
    table.client.tables.update(TableConfig.from_json(config))


def test_the_updates_topic_follows_the_retention_of_the_table(make_table: MakeTable) -> None:
    table = make_table({"key": "STRING"}, ["key"], 1)
    table.topic.produce({0: [{"key": "a", "ts": _NEW_MS}]})
    table.once()
    _wait_for_retention(table, 12_000)
    for days, kept_days in ((20_000, 24_000), (10, 24_000)):
        _keep_days(table, days)
        table.once()
        _wait_for_retention(table, kept_days)
    assert f"changed retention.ms from {12_000 * _DAY_MS} to {24_000 * _DAY_MS}" in table.log()


class _Rows:
    """Writes rows of one partition; each has a number, which is its offset."""

    def __init__(self, table: CheckedTable, process: subprocess.Popen[bytes]) -> None:
        self._table = table
        self._process = process
        self.count = 0

    def write(self, keys: Sequence[str], ts: int) -> int:
        """Write rows, and wait for their version; return the offset of the last one."""
        rows = [{"key": key, "ts": ts + number} for number, key in enumerate(keys)]
        self._table.topic.produce({0: rows})
        self.count += len(rows)
        self._table.wait_passed({0: self.count}, self._process)
        return self.count - 1

    def is_visible(self, offset: int) -> bool:
        """Whether a row is visible at the newest version."""
        replay = self._table.replay()
        return (0, offset) in replay.visible(replay.whole_versions()[-1])


def _records(table: CheckedTable) -> list[tuple[int, VersionRecord]]:
    """The records of versions in the updates topic, with their offsets."""
    messages = read_topic(table.kafka.bootstrap, table.updates_topic)
    found = [(each.offset, decode_any(each.value or b"", where="here")) for each in messages]
    return [(offset, record) for offset, record in found if isinstance(record, VersionRecord)]


def _floor(table: CheckedTable) -> int:
    """The offset before which keys have expired, at the newest version."""
    return _records(table)[-1][1].floors.get(0, 0)


def _rebuild(table: CheckedTable, rows: _Rows, number: int) -> None:
    subprocess.run(
        table.command("upsert", "rebuild", table.name, "--yes"),
        check=True,
        capture_output=True,
        timeout=_TIMEOUT_S,
    )

    def rebuilt() -> bool:
        rows.write(["filler"], _NEW_MS)
        return table.record().generation == number

    wait_for(rebuilt, f"generation {number}", _TIMEOUT_S)


@FULL  # floors take effect at the second check, which is made once a minute
def test_a_key_expires_with_the_segment_of_its_row(make_table: MakeTable) -> None:
    table = make_table({"key": "STRING"}, ["key"], 1, rows_per_segment=_ROWS_PER_SEGMENT)
    process = table.start()
    rows = _Rows(table, process)
    rows.write([f"k{number % 10}" for number in range(2 * _ROWS_PER_SEGMENT)], _OLD_MS)
    rows.write([f"n{number}" for number in range(_ROWS_PER_SEGMENT)], _NEW_MS)
    wait_for(lambda: len(table.segments()) == 4, "three sealed segments", _TIMEOUT_S)
    table.wait_served()
    late_ms = _OLD_MS - 1000
    # Until its segment is deleted, the row with the greater time counts.
    early = rows.write(["k3"], late_ms)
    assert not rows.is_visible(early)
    table.run_periodic_task("RetentionManager")
    wait_for(lambda: len(table.segments()) == 2, "the old segments to be deleted", _TIMEOUT_S)
    assert _floor(table) == 0

    def expired() -> bool:
        rows.write(["filler"], _NEW_MS)
        return _floor(table) == 2 * _ROWS_PER_SEGMENT

    wait_for(expired, "the keys to expire", _TIMEOUT_S, interval_s=2.0)
    late = rows.write(["k3"], late_ms)
    assert rows.is_visible(late)
    assert not rows.is_visible(early)
    # Later rows of the key replace it as usual.
    later = rows.write(["k3"], late_ms + 10)
    assert rows.is_visible(later)
    assert not rows.is_visible(late)

    # A rebuild lets keys expire when they did ...
    _rebuild(table, rows, 2)
    assert rows.is_visible(later)
    # ... unless the first versions are no longer known.
    first, record = _records(table)[0]
    assert record.version == 0
    Topic(table.kafka.bootstrap, table.updates_topic).drop_before({0: first + 1})
    assert _records(table)[0][1].version > 0
    _rebuild(table, rows, 3)
    assert not rows.is_visible(later)
    assert table.end(process) == 0
