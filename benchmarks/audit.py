"""The audit of many segments: its duration and its requests.

    python -m benchmarks.audit --segments 100000 --tables 10

The cluster runs as processes, with its deep store on an S3 server. One segment is pushed. The records of all
other segments are copies of its record under other names, in tables created through the controller. Their
tars are hard links to copies of its tar in the S3 server's folder. Helix is paused, so the external views,
which name both servers for each segment, stay as written. The servers have none of the copies: when the audit
requests checksums, they answer that they do not have the table.

``command`` measures ``pinotctl deepstore audit --output json`` from start to end. ``phases`` measures the
same work in this process, with a timer for each source of data.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
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
from tests.support.cluster import PinotCluster
from tests.support.numbers_table import load_numbers
from tests.support.offline_tables import offline_table
from tests.support.pinot_services import DEEP_STORE_BUCKET
from tests.support.pinotctl import pinotctl
from tests.support.session import own_session

_SEGMENTS_A_LISTING = 1_000
_PIPELINE = 1_000


@dataclass
class Filled:
    """The number of segments that were written.

    Attributes:
        segments: All of them.
        faulty: Those without a download URL.
    """

    segments: int
    faulty: int


class Phases:
    """Seconds and requests by source of data."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()

    @contextmanager
    def of(self, name: str, requests: int = 1) -> Iterator[None]:
        """Measure the body of the with statement."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] += time.monotonic() - started  # type: ignore[assignment]
            self.requests[name] += requests


class TimedStore(PropertyStore):
    """A property store that measures its time."""

    phases: Phases

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        """See the base class."""
        with self.phases.of("records from ZooKeeper"):
            return super().get_many(paths)

    def children(self, path: str) -> list[str]:
        """See the base class."""
        with self.phases.of("names from ZooKeeper"):
            return super().children(path)


class TimedServers(ServerAdmins):
    """A client of the servers that measures its time."""

    phases: Phases

    def crcs(self, server: str, table: TableName) -> dict[str, int]:
        """See the base class."""
        with self.phases.of("checksums from servers"):
            return super().crcs(server, table)


class TimedS3(S3Store):
    """An S3 client that measures its time."""

    phases: Phases

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """See the base class."""
        with self.phases.of("listings of the store", 0):
            found = list(super().list(directory_uri))
        self.phases.requests["listings of the store"] += -(-len(found) // _SEGMENTS_A_LISTING)
        return iter(found)


class TimedClock(SystemClock):
    """A clock that measures the waits for the rate limit."""

    phases: Phases

    def sleep(self, seconds: float) -> None:
        """See the base class."""
        with self.phases.of("waits for the rate limit"):
            super().sleep(seconds)


def fill(
    pinot: PinotCluster,
    client: ControllerClient,
    store: PropertyStore,
    folder: Path,
    options: argparse.Namespace,
) -> Filled:
    """Create the tables, the records, the tars and the external views."""
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
        # copy2 keeps the extended attributes, in which the S3 server stores the object's metadata.
        copy = shutil.copy2(tar, bucket / name / segments[0])
        for one in segments[1:]:
            (bucket / name / one).hardlink_to(copy)
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
        print(f"{filled.segments:,} segments written", flush=True)
    client.tables.delete(f"{first}_OFFLINE")
    return filled


def write_records(
    store: PropertyStore, table: str, segments: Sequence[str], faulty: set[str], like: ZNRecord
) -> None:
    """Write the segments' records, many at once."""
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
    """Measure the command."""
    started = time.monotonic()
    arguments = ("deepstore", "audit", "--output", "json", "--rate", str(rate))
    command = pinotctl(*arguments, controller=pinot.controller_url)
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
    """Measure the same work in this process, phase by phase."""
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
    rows.append({"phase": "external views, checks", "seconds": round(rest_s, 1), "requests": ""})
    return [*rows, {"phase": "all", "seconds": round(total_s, 1), "requests": ""}]


def main() -> None:
    """Run the benchmark, print tables and write JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--faulty", type=float, default=0.01, help="share of segments without a download URL")
    parser.add_argument("--rate", type=float, default=50.0, help="the command's --rate")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/audit.json"))
    options = parser.parse_args()
    # The tars are written straight into the S3 server's folder, so no containers.
    os.environ["PINOT_TEST_BACKEND"] = "processes"
    with own_session(zookeeper_heap_mb=1024) as session:
        os.environ.update(session.s3_environment())
        pinot = session.pinot
        with (
            pinot.client() as client,
            PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
        ):
            fill(pinot, client, store, session.folder, options)
        commands = [by_command(pinot, options.rate) for _ in range(options.rounds)]
        show(commands)
        phases = by_phases(pinot, options.rate)
        show(phases)
    save(options.json, {"commands": commands, "phases": phases})


if __name__ == "__main__":
    main()
