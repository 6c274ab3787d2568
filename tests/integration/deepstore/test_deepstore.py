"""Find segments that were committed during an outage of the store, and copy them to it afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from controller_client.common.names import TableName
from controller_client.segment_tar import TarLimits, content_crc
from tests.integration.deepstore.commands import damage_replica, repaired, replica_tar
from tests.integration.deepstore.conftest import Audit, MakeTable, Run
from tests.integration.deepstore.peer_table import PeerTable
from tests.support.cluster import PinotCluster
from tests.support.faulty_s3 import FaultyS3
from tests.support.local_ports import free_base
from tests.support.needs import Need, has
from tests.support.numbers_table import ROWS, SUM, answer, load_numbers
from tests.support.pinot_services import DEEP_STORE_BUCKET
from tests.support.pinotctl import pinotctl
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3]


@contextmanager
def watching(pinot: PinotCluster, table: PeerTable) -> Iterator[str]:
    """Run the watch; yield the URL of its metrics, and end it as a service manager does."""
    port = free_base()
    words = ("deepstore", "watch", table.name, "--interval", "1", "--metrics-port", str(port))
    command = pinotctl(*words, controller=pinot.controller_url)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline(), process.stderr.readline()]
            assert "Metrics are at" in lines[1], lines
            yield f"http://127.0.0.1:{port}/metrics"
        finally:
            process.terminate()
        assert process.wait(60) == 0


def test_an_outage_of_the_store(
    make_table: MakeTable,
    run: Run,
    audit: Audit,
    pinot: PinotCluster,
    faulty_s3: FaultyS3,
    tmp_path: Path,
) -> None:
    table = make_table(partitions=2)
    table.fill(2)
    segments = set(table.committed())
    assert len(segments) == 4
    assert audit(table.table) == {"no_url": segments}
    assert audit(table.table, "--min-copies", "3") == {"no_url": segments, "few_copies": segments}
    page = tmp_path / "audit.html"
    shown = run("deepstore", "audit", table.name, "--html", page, code=1).output
    assert all(name in shown and name in page.read_text() for name in segments)

    # The store still refuses: nothing is changed, and the repair fails.
    before = table.committed()
    failed = repaired(run, table, code=1)
    assert {each["outcome"] for each in failed.values()} == {"failed"}
    assert {name: each.version for name, each in table.committed().items()} == {
        name: each.version for name, each in before.items()
    }

    table.open_store()
    dry = repaired(run, table, "--dry-run")
    assert {each["outcome"] for each in dry.values()} == {"would_repair"}
    assert audit(table.table) == {"no_url": segments}

    # One is killed after an upload, before it writes the URL; then two run at once.
    words = ("deepstore", "repair", table.name, "--yes", "--output", "json")
    command = pinotctl(*words, controller=pinot.controller_url)
    held = faulty_s3.hold_reply("PUT", f"{DEEP_STORE_BUCKET}/{table.folder_key}/*")
    with subprocess.Popen(command, env={**os.environ, "AWS_ENDPOINT_URL_S3": faulty_s3.url}) as killed:
        held.wait_hit()
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    left = audit(table.table)["no_url"]
    assert left
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    outcomes = [each["outcome"] for text in printed for each in json.loads(text)]
    assert outcomes.count("repaired") == len(left)
    assert set(outcomes) <= {"repaired", "good_already"}
    assert audit(table.table, "--min-copies", "3") == {}
    assert repaired(run, table) == {}
    for name, record in table.committed().items():
        assert record.url == f"{pinot.deep_store_uri}/{table.name}/{name}"

    # Pinot uploads segments itself again.
    table.fill(1)
    assert len(table.committed()) == 6
    assert audit(table.table) == {}

    # An object is deleted manually: it can be fetched from peers, and after the repair from the store.
    gone = min(segments)
    table.delete_object(gone)
    assert audit(table.table) == {"object_gone": {gone}}
    fetched = run("segment", "fetch", table.name, gone, "--to", tmp_path)
    assert "Skipped store" in fetched.output
    assert "from Server_" in fetched.output
    assert content_crc(tmp_path / f"{gone}.tar.gz", TarLimits()) == table.committed()[gone].crc
    with watching(pinot, table) as metrics_url:
        wait_for(lambda: not audit(table.table), f"the watch to repair {gone}")
        wanted = 'pinot_plugins_deepstore_repairs_total{outcome="repaired"} 1.0\n'
        wait_for(lambda: wanted in requests.get(metrics_url, timeout=10).text, "its metrics")
    fetched = run("segment", "fetch", table.name, gone, "--to", tmp_path, "--unpack")
    assert "from store" in fetched.output
    assert (tmp_path / gone / "v3" / "creation.meta").is_file()
    table.wait_rows()


@FULL
@DISTURBS
def test_replicas_that_differ_from_the_segment(
    make_table: MakeTable, run: Run, audit: Audit, pinot: PinotCluster, tmp_path: Path
) -> None:
    table = make_table(partitions=1)
    table.fill(3)
    segment, damaged, foreign = sorted(table.committed())
    bad, good = sorted(table.client.tables.external_view(table.table)[segment])

    table.relabel_replica("server_1", segment, crc=12345)
    damage_replica(pinot, "server_1", replica_tar(table.client, bad, table.table, damaged, tmp_path))
    pinot.put_file("server_1", f"index/{table.table}/{foreign}/v3/foreign", b"not of this segment")
    table.open_store()

    # The server has loaded good data and reports its checksum; only its tars show the damage.
    done = repaired(run, table)
    assert {(each["outcome"], each["source"], each["proof"]) for each in done.values()} == {
        ("repaired", good, "content")
    }
    crc = table.committed()[segment].crc
    assert done[segment]["passed_over"] == f"{bad}: its tar has crc 12345, not {crc}"
    refused = [damaged, foreign]
    if has(Need.DATA_CRC):
        # The data next to the foreign file is verified, so the copy is not rejected.
        refused.remove(foreign)
        assert done[foreign]["passed_over"] == ""
    for name in refused:
        assert re.search(rf"{bad}: its files have crc \d+, the record has", str(done[name]["passed_over"]))
    assert audit(table.table) == {}

    pinot.kill("server_1")
    pinot.start("server_1")
    table.wait_served()
    if has(Need.DATA_CRC):
        assert audit(table.table) == {}  # at its start it has fetched good copies itself
        return
    assert audit(table.table) == {"replica_crc": {segment}}
    assert "pinotctl table reload" in run("deepstore", "audit", table.name, code=1).output
    assert "pinotctl table reload" in run("deepstore", "repair", table.name, "--yes").output

    # With a copy in the store, the other server may stop; without it, that server has the last good copy.
    run("deepstore", "safe-to-stop", "--read-tars", good)
    table.delete_object(segment)
    assert audit(table.table) == {name: {segment} for name in ("replica_crc", "few_copies", "object_gone")}
    run("deepstore", "safe-to-stop", "--read-tars", bad)
    run("deepstore", "safe-to-stop", "--read-tars", bad, good, code=1)
    answer = run("deepstore", "safe-to-stop", "--read-tars", good, "--output", "json", code=1)
    at_risk = [each for each in json.loads(answer.stdout) if each["state"] == "committed"]
    assert [each["segment"] for each in at_risk] == [segment]
    assert repaired(run, table)[segment]["source"] == good
    run("deepstore", "safe-to-stop", "--read-tars", good)

    # The audit's advice works.
    run("table", "reload", table.name, segment, "--no-wait")
    wait_for(lambda: not audit(table.table), f"{bad} to load {segment} from the store")


def test_a_batch_table(
    unique_table: str, run: Run, audit: Audit, pinot: PinotCluster, s3_client: S3Client, tmp_path: Path
) -> None:
    load_numbers(pinot, unique_table, tmp_path)
    table = TableName(f"{unique_table}_OFFLINE")
    assert audit(table) == {}
    gone, garbage, cut = (f"{unique_table}_{number}" for number in range(3))

    def key(segment: str) -> str:
        return f"segments/{unique_table}/{segment}"

    s3_client.delete_object(Bucket=DEEP_STORE_BUCKET, Key=key(gone))
    s3_client.put_object(Bucket=DEEP_STORE_BUCKET, Key=key(garbage), Body=b"x")
    tar = s3_client.get_object(Bucket=DEEP_STORE_BUCKET, Key=key(cut))["Body"].read()
    s3_client.put_object(Bucket=DEEP_STORE_BUCKET, Key=key(cut), Body=tar[:-100] + bytes(100))
    by_size = audit(table, "--min-copies", "1", read_tars=False)
    assert by_size == {"object_gone": {gone}, "wrong_size": {garbage}}
    assert audit(table, "--min-copies", "1")["wrong_crc"] == {cut}
    printed = run("deepstore", "repair", table, "--read-tars", "--yes", "--output", "json")
    assert {each["segment"] for each in json.loads(printed.stdout)} == {gone, garbage, cut}
    assert audit(table) == {}

    # A copy is damaged on a server's disk: it is not uploaded, and the server can fetch the store's copy.
    with pinot.client() as client:
        view = client.tables.external_view(table)
        bad = min(server for states in view.values() for server in states)
        damaged = min(name for name, states in view.items() if bad in states)
        expected = client.segments.metadata(table, damaged).crc
        damage_replica(pinot, "server_1", replica_tar(client, bad, table, damaged, tmp_path))
        tar = s3_client.get_object(Bucket=DEEP_STORE_BUCKET, Key=key(damaged))["Body"].read()
        s3_client.delete_object(Bucket=DEEP_STORE_BUCKET, Key=key(damaged))
        repair = run("deepstore", "repair", table, "--yes", "--output", "json", code=1)
        (refused,) = json.loads(repair.stdout)
        assert refused["outcome"] == "no_source"
        assert "its files have crc" in refused["message"]
        s3_client.put_object(Bucket=DEEP_STORE_BUCKET, Key=key(damaged), Body=tar)
        run("table", "reload", table, damaged, "--download", "--no-wait")

        def crc() -> int:
            return content_crc(replica_tar(client, bad, table, damaged, tmp_path), TarLimits())

        wait_for(lambda: crc() == expected, f"{bad} to have {damaged} as the store has it")
    wait_for(lambda: answer(pinot, unique_table) == (ROWS, SUM, 2), "all rows from both servers")


def test_enable(make_table: MakeTable, run: Run) -> None:
    table = make_table(partitions=1, peers=False, closed=False)
    scheme = "peerSegmentDownloadScheme"
    answer = run("deepstore", "enable", table.name, "--dry-run", "--output", "json")
    findings = {(each["where"], each["verdict"]) for each in json.loads(answer.stdout)}
    ideal = table.client.tables.ideal_state(table.table)
    own = {(server, "ok") for servers in ideal.values() for server in servers}
    assert len(own) == 2
    assert own <= findings
    assert scheme not in table.client.tables.get(table.table).to_json()["segmentsConfig"]
    run("deepstore", "enable", table.name, "--yes")
    assert table.client.tables.get(table.table).to_json()["segmentsConfig"][scheme] == "http"
    assert "already configured" in run("deepstore", "enable", table.name, "--yes").output
