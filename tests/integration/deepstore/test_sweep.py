"""Find leftovers of commits in the store and take them away; files of segments stay."""

from __future__ import annotations

import json
import uuid

import pytest

from controller_client.deepstore.quarantine import QUARANTINE_FOLDER
from tests.integration.deepstore.conftest import Audit, MakeTable, Run
from tests.support.pinot_services import DEEP_STORE_BUCKET

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3]


def test_sweep_quarantines_leftovers_and_keeps_segments(
    make_table: MakeTable, run: Run, audit: Audit
) -> None:
    table = make_table(partitions=1, closed=False)
    table.fill(1)
    run("deepstore", "repair", table.name, "--yes")
    segment = min(table.committed())
    gone = f"{table.name}__0__99__20200101T0000Z"
    left = {f"{table.folder_key}/{segment}.tmp.{uuid.uuid4()}", f"{table.folder_key}/{gone}"}
    kept = f"{table.folder_key}/notes.txt"
    for key in (*left, kept):
        table.s3.put_object(Bucket=DEEP_STORE_BUCKET, Key=key, Body=b"left over")

    def sweep(*options: str) -> set[str]:
        found = json.loads(run("deepstore", "sweep", table.name, "--output", "json", *options).stdout)
        return {each["uri"].partition(f"{DEEP_STORE_BUCKET}/")[2] for each in found}

    assert sweep("--dry-run") == set()  # they are too young
    assert sweep("--dry-run", "--min-age", "0", "--max-share", "50") == left
    # A third of the few objects has no record: only on request.
    run("deepstore", "sweep", table.name, "--yes", "--min-age", "0", code=1)
    assert sweep("--yes", "--min-age", "0", "--max-share", "50") == left
    assert sweep("--dry-run", "--min-age", "0") == set()
    table.s3.head_object(Bucket=DEEP_STORE_BUCKET, Key=kept)
    moved = table.s3.list_objects_v2(Bucket=DEEP_STORE_BUCKET).get("Contents", ())
    quarantined = [each["Key"] for each in moved if QUARANTINE_FOLDER in each["Key"]]
    assert {key.rpartition("/")[2] for key in left} <= {key.rpartition("/")[2] for key in quarantined}
    assert audit(table.table) == {}
    table.wait_rows()
