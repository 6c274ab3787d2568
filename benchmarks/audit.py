"""How long an audit of many segments takes, and what it asks for.

    python -m benchmarks.audit --segments 100000 --tables 10

A cluster of processes with its deep store on an S3 server. One segment is pushed; the records of all others
are copies of its record under other names, in tables that the controller has made, and their tars are hard
links to copies of its tar in the S3 server's folder. Helix is paused, so that the external views, which name
both servers for each segment, stay as they are written. The servers have none of the copies: they are asked
for check sums, and answer that they do not know the table.

``command`` is ``pinotctl deepstore audit --output json`` from its start to its end. ``phases`` is the same
in this process, with a clock at each place that is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.tables import save, show
from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.common.names import TableName, TableType
from controller_client.deepstore import Auditor, RateLimit, ServerAdmins, StoreLayout
from controller_client.filestore import FileInfo
from controller_client.filestore.s3 import S3Store
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path
from tests.integration.fixtures.numbers_table import load_numbers
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.pinot_services import DEEP_STORE_BUCKET
from tests.support.pinotctl import pinotctl
from tests.support.session import Session

_SEGMENTS_A_LISTING = 1_000
_PIPELINE = 1_000


@dataclass
class Filled:
    """What was written.

    Attributes:
        segments: How many.
        faulty: How many of them have no url.
    """

    segments: int
    faulty: int


class Phases:
    """Seconds and requests by place."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()

    @contextmanager
    def of(self, name: str, requests: int = 1) -> Iterator[None]:
        """Measure one thing."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] += time.monotonic() - started  # type: ignore[assignment]
            self.requests[name] += requests


class TimedStore(PropertyStore):
    """Measures its time."""

    phases: Phases

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        """As the base class."""
        with self.phases.of("records from ZooKeeper"):
            return super().get_many(paths)

    def children(self, path: str) -> list[str]:
        """As the base class."""
        with self.phases.of("names from ZooKeeper"):
            return super().children(path)


class TimedServers(ServerAdmins):
    """Measures its time."""

    phases: Phases

    def crcs(self, server: str, table: TableName) -> dict[str, int]:
        """As the base class."""
        with self.phases.of("check sums from servers"):
            return super().crcs(server, table)


class TimedS3(S3Store):
    """Measures its time."""

    phases: Phases

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """As the base class."""
        with self.phases.of("listings of the store", 0):
            found = list(super().list(directory_uri))
        self.phases.requests["listings of the store"] += -(-len(found) // _SEGMENTS_A_LISTING)
        return iter(found)


class TimedClock(SystemClock):
    """Measures how long the rate made it wait."""

    phases: Phases

    def sleep(self, seconds: float) -> None:
        """As the base class."""
        with self.phases.of("waiting for the rate"):
            super().sleep(seconds)


def fill(
    pinot: PinotCluster,
    client: ControllerClient,
    store: PropertyStore,
    folder: Path,
    options: argparse.Namespace,
) -> Filled:
    """Make the tables, the records, the tars and the external views."""
    first = f"audit_{uuid.uuid4().hex[:8]}"
    load_numbers(pinot, first, folder)
    segment = store.children(f"/SEGMENTS/{first}_OFFLINE")[0]
    found = store.get(segment_path(TableName(f"{first}_OFFLINE"), segment))
    assert found is not None
    bucket = folder / "s3" / "data" / DEEP_STORE_BUCKET / "segments"
    tar = bucket / first / segment
    servers = [name for name in client.instances.list() if name.startswith("Server_")]
    names = [f"{first}_{number}" for number in range(options.tables)]
    for name in names:
        fields = [{"name": "id", "dataType": "INT"}]
        client.schemas.create(Schema.from_json({"schemaName": name, "dimensionFieldSpecs": fields}))
        client.tables.create(TableConfig.from_json(offline_table(name, replicas=2)))
    cluster = f"/{pinot.cluster_name}"
    store.connection.create(f"{cluster}/CONTROLLER/PAUSE", ZNRecord("pause").to_bytes())
    each = options.segments // options.tables
    filled = Filled(0, 0)
    for name in names:
        segments = [f"{name}__{number % 64}__{number // 64}__20261121T0000Z" for number in range(each)]
        faulty = set(segments[: round(each * options.faulty)])
        (bucket / name).mkdir()
        # With its extended attributes, in which the S3 server keeps what it reports of an object.
        own = shutil.copy2(tar, bucket / name / segments[0])
        for one in segments[1:]:
            (bucket / name / one).hardlink_to(own)
        write_records(store, name, segments, faulty, found.record)
        view = ZNRecord(
            f"{name}_OFFLINE",
            simple_fields={"BUCKET_SIZE": "0", "STATE_MODEL_DEF_REF": "SegmentOnlineOfflineStateModel"},
            map_fields={one: dict.fromkeys(servers[:2], "ONLINE") for one in segments},
        )
        path = f"{cluster}/EXTERNALVIEW/{name}_OFFLINE"
        before = store.connection.get(path)
        if before is None:
            store.connection.create(path, view.to_bytes(compress=True))
        else:
            store.connection.set(path, view.to_bytes(compress=True), before[1])
        filled.segments += len(segments)
        filled.faulty += len(faulty)
        print(f"{filled.segments:,} segments are there", flush=True)
    client.tables.delete(f"{first}_OFFLINE")
    return filled


def write_records(
    store: PropertyStore, table: str, segments: Sequence[str], faulty: set[str], like: ZNRecord
) -> None:
    """Write the segments' records, many at a time."""
    kazoo = store.connection.kazoo()
    root = f"/{store.cluster_name}/PROPERTYSTORE"
    with_type = TableName.of(table, TableType.OFFLINE)
    fields = {**like.simple_fields, "segment.name": "", "segment.download.url": ""}
    for start in range(0, len(segments), _PIPELINE):
        pending = []
        for name in segments[start : start + _PIPELINE]:
            url = "" if name in faulty else f"s3://{DEEP_STORE_BUCKET}/segments/{table}/{name}"
            own = {**fields, "segment.name": name, "segment.download.url": url}
            data = replace(like, id=name, simple_fields=own).to_bytes()
            pending.append(kazoo.create_async(root + segment_path(with_type, name), data, makepath=True))
        for one in pending:
            one.get(timeout=120)


def by_command(pinot: PinotCluster, rate: float) -> dict[str, object]:
    """Run the command."""
    started = time.monotonic()
    words = ("deepstore", "audit", "--output", "json", "--rate", str(rate))
    command = pinotctl(*words, controller=pinot.controller_url)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.read())
        _, _, used = os.wait4(process.pid, 0)
    took_s = time.monotonic() - started
    cpu_s = used.ru_utime + used.ru_stime
    return {
        "command": "pinotctl deepstore audit",
        "seconds": round(took_s, 1),
        "its CPU s": round(cpu_s, 1),
        "segments": document["segments"],
        "faults": ", ".join(f"{count:,} {fault}" for fault, count in document["faults"].items()),
        "MiB": used.ru_maxrss // 1024,
    }


def by_phases(pinot: PinotCluster, rate: float) -> list[dict[str, object]]:
    """Run the same here."""
    phases = Phases()
    clock, s3 = TimedClock(), TimedS3({})
    clock.phases = s3.phases = phases
    limit = RateLimit(rate, clock)
    started = time.monotonic()
    with (
        pinot.client() as client,
        TimedStore(pinot.zookeeper_address, pinot.cluster_name) as store,
        TimedServers(client, limit) as servers,
    ):
        store.phases = servers.phases = phases
        auditor = Auditor(client, store, StoreLayout.of(client), servers, limit, open_store=lambda _uri: s3)
        for table in auditor.tables():
            auditor.audit(table)
    total_s = time.monotonic() - started
    rows: list[dict[str, object]] = [
        {"phase": name, "seconds": round(seconds, 1), "requests": phases.requests[name]}
        for name, seconds in phases.seconds.items()
    ]
    rest_s = total_s - sum(phases.seconds.values())
    rows.append({"phase": "external views, judging", "seconds": round(rest_s, 1), "requests": ""})
    return [*rows, {"phase": "all", "seconds": round(total_s, 1), "requests": ""}]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--faulty", type=float, default=0.01, help="share of the segments without a url")
    parser.add_argument("--rate", type=float, default=50.0, help="as of the command")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/audit.json"))
    options = parser.parse_args()
    # The tars are put into the S3 server's folder.
    os.environ["PINOT_TEST_BACKEND"] = "processes"
    with tempfile.TemporaryDirectory() as name:
        session = Session(Path(name), zookeeper_heap_mb=1024)
        try:
            os.environ.update(session.s3_environment())
            pinot = session.pinot
            with (
                pinot.client() as client,
                PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
            ):
                fill(pinot, client, store, Path(name), options)
            commands = [by_command(pinot, options.rate) for _ in range(options.rounds)]
            show(commands)
            phases = by_phases(pinot, options.rate)
            show(phases)
        finally:
            session.close()
    save(options.json, {"commands": commands, "phases": phases})


if __name__ == "__main__":
    main()
