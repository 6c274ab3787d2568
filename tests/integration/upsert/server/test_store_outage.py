"""The deep store refuses sealed segments, and their rows get versions before they are repaired."""

from __future__ import annotations

import json

from tests.integration.deepstore.conftest import Run, run
from tests.integration.server_hooks.commits import in_commits, urls, without_url
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.support.faulty_s3 import FaultyS3

__all__ = ["run"]

_ROWS = 25


def test_what_the_store_refused_is_repaired_from_servers_that_agree(
    make_upsert_table: MakeUpsertTable, hosted_store: FaultyS3, run: Run
) -> None:
    # Pinot divides the number of rows among the partitions of a server.
    table = make_upsert_table(rows_per_segment=2 * _ROWS)
    pinot = table.pinot
    hosted_store.answer(403, "PUT", in_commits(table))
    for partition in (0, 1):
        table.produce(partition, [f"{partition}-{number}" for number in range(_ROWS)])
    table.wait_sealed(2)
    refused = without_url(table)
    assert refused == {segment.name for segment in table.sealed()}
    # Servers write the version into their copies: no checksum proves these any more.
    table.wait_checked(table.model.coordinate())

    def repair(*options: str, code: int) -> dict[str, dict[str, str]]:
        told = run("deepstore", "repair", table.full_name, "--yes", "--output", "json", *options, code=code)
        return {each["segment"]: each for each in json.loads(told.stdout)}

    left_alone = repair(code=1)
    assert left_alone.keys() == refused
    assert {each["outcome"] for each in left_alone.values()} == {"no_source"}
    assert all("its files have crc" in each["message"] for each in left_alone.values())
    assert without_url(table) == refused

    repaired = repair("--accept-agreeing", code=0)
    assert repaired.keys() == refused
    assert {(each["outcome"], each["proof"]) for each in repaired.values()} == {("repaired", "servers")}
    assert not without_url(table)

    # A server that lost its disk has the rows from the store, and their versions from the updates topic.
    for partition in (0, 1):
        table.produce(1 - partition, [f"{partition}-{number}" for number in range(0, _ROWS, 2)])
    table.wait_checked(table.model.coordinate())
    pinot.kill("hosted_1")
    pinot.lose_disk("hosted_1")
    pinot.start("hosted_1")
    table.wait_served(replicas=2)
    stored = urls(table)
    assert all(hosted_store.gets(stored[name].removeprefix("s3://")) for name in refused)
    table.wait_checked(table.model.coordinate())
    table.check(table.model.coordinate())
