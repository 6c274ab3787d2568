"""Features of the engine local only: a standby, and a rebuild while versions continue."""

from __future__ import annotations

import signal
import subprocess
from functools import partial

import pytest

from controller_client.upsert.update_message import Events, VersionEnd, VersionRecord, decode_any
from tests.integration.upsert.coordinator.conftest import CoordinatedTable, MakeTable
from tests.integration.upsert.coordinator.test_coordinator import Feed, understand
from tests.integration.upsert.coordinator.topics import check_versions, read_topic, records_of
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 300.0
_COLUMNS = {"user": "STRING", "account": "LONG", "text": "STRING"}
_KEY = ["user", "account"]


def check(table: CoordinatedTable) -> int:
    return check_versions(table.replay(), records_of(table.input(), understand))


def said(table: CoordinatedTable, text: str) -> None:
    wait_for(lambda: text in table.log(), f"{text!r} in the log:\n{table.log()}", _TIMEOUT_S)


def test_a_standby_takes_over_and_the_next_one_too(make_table: MakeTable) -> None:
    table = make_table(_COLUMNS, _KEY, 4)
    feed = Feed(table, seed=21)
    options = ("--max-rows-per-version=100", "--version-interval=0")
    first = table.start(*options)
    feed.write(1_000, 4)
    table.wait_passed(table.ends_of_input(), first)
    leader = first
    for number in (1, 2):
        standby = table.start("--standby", *options, folder=f"standby-{number}")
        said(table, "stands by")
        wait_for(partial(table.has_state, f"standby-{number}"), "the standby's own state", _TIMEOUT_S)
        feed.write(2_000, 4)
        table.end(leader, signal.SIGKILL)
        table.wait_lock(standby)
        feed.write(500, 4)
        table.wait_passed(table.ends_of_input(), standby)
        leader = standby
    assert table.end(leader) == 0
    assert table.record().generation == 1, "the standby's state belongs to the generation"
    assert check(table) > 20


def test_versions_continue_while_a_new_state_is_built(make_table: MakeTable) -> None:
    table = make_table(_COLUMNS, _KEY, 2)
    feed = Feed(table, seed=22)
    feed.write(120_000, 2)
    process = table.start("--version-interval=0.05")
    table.wait_passed(table.ends_of_input(), process)
    before = table.record()
    asked = table.command("upsert", "rebuild", table.name, "--yes")
    subprocess.run(asked, check=True, timeout=_TIMEOUT_S)

    def rebuilt() -> bool:
        feed.write(5, 2)
        return table.record().generation == 2

    wait_for(rebuilt, "the new generation", _TIMEOUT_S, interval_s=0.02)
    feed.write(100, 2)
    table.wait_passed(table.ends_of_input(), process)
    assert table.end(process) == 0
    assert check(table) > 5
    assert _versions_with_old_and_new_rows(table, before.version) > 0


def _versions_with_old_and_new_rows(table: CoordinatedTable, after: int) -> int:
    """Versions of the first generation that resend what the rebuild has read, and end with new rows."""
    sent: dict[int, set[int]] = {}
    new: dict[int, bool] = {}
    first_generation = set()
    seen: set[tuple[int, int]] = set()
    for message in read_topic(table.kafka.bootstrap, f"{table.full_name}.updates"):
        found = decode_any(message.value or b"", where="updates")
        if isinstance(found, VersionRecord):
            if found.generation == 1:
                first_generation.add(found.version)
        elif isinstance(found, VersionEnd):
            new[found.version] = new.get(found.version, False) or found.end > found.begin
        elif isinstance(found, Events):
            places = {(message.partition, int(offset)) for offset in found.offsets[~found.deleted]}
            if places & seen:
                sent.setdefault(found.version, set()).add(message.partition)
            seen |= places
    return sum(version > after and new.get(version, False) for version in sent.keys() & first_generation)
