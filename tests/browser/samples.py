"""The pages, rendered from the objects that the commands print: long names, many rows, empty states."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from controller_client.common.console import Console
from controller_client.common.names import TableName
from controller_client.consumption.state.pause_record import Holder
from controller_client.consumption.state.status import (
    PartitionState,
    PartitionStatus,
    TableState,
    TableStatus,
)
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.audit_tables import TableFailure
from controller_client.deepstore.judge import Fault, Finding, Judgement
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.upsert.coordinator_state import CoordinatorState
from controller_client.upsert.low_water_mark import TableMark
from controller_client.upsert.record import CoordinatorRecord, PartitionProgress, ServerRecord
from controller_client.upsert.status import UpsertStatus
from controller_client.zookeeper import LockHolder, Versioned, ZNRecord
from minion_tasks.file_ingestion.report.counts import count_session
from minion_tasks.file_ingestion.report.page import page
from minion_tasks.file_ingestion.session.model import (
    ColumnNote,
    FileEntry,
    FileGroup,
    FileStatus,
    IngestionMode,
    Session,
    SessionState,
    StagedBuild,
)
from pinotctl.pages.consumption import ConsumptionPage
from pinotctl.pages.upsert import upsert_page

__all__ = ["CONSOLE_URL", "HOSTILE", "LONG_TABLE", "pages"]

CONSOLE_URL = "https://pinot.example.org:9000"
HOSTILE = '<script>alert("1")</script>&\u202e\'\x1b[31m'
LONG_TABLE = TableName("customer_interactions_from_all_regions_with_a_very_long_name_that_goes_on_REALTIME")

_CONSOLE = Console(f"https://somebody:a-secret@{CONSOLE_URL.removeprefix('https://')}")
_NOW = 1_795_712_400_000
_HOUR = 3_600_000
_OFFLINE = TableName("flights_of_every_airline_since_the_beginning_of_records_OFFLINE")


def pages(folder: Path) -> Mapping[str, Callable[[], str]]:
    """Return, by name, the function that renders each page.

    Args:
        folder: Folder for pages that a command writes on its own.
    """
    consumption = _consumption_pages(folder / "written.html")
    return {**_session_pages(), **_audit_pages(), **consumption, **_upsert_pages()}


def _session_pages() -> Mapping[str, Callable[[], str]]:
    random_numbers = random.Random(7)
    base = Session(
        session_id="20261126T160000123Z",
        table=_OFFLINE,
        state=SessionState.IN_PROGRESS,
        created_ms=_NOW - 5 * _HOUR,
        updated_ms=_NOW,
        owner="airflow-worker-with-a-long-host-name-17.eu-west-1.compute.internal:4711",
        mode=IngestionMode.SYNC,
        atomic=True,
        source="s3://a-bucket-with-a-rather-long-name/warehouse/flights/partitioned/by/day/",
        staging_uri="s3://a-bucket-with-a-rather-long-name/staging/20261126T160000123Z",
        files=2400,
        total_bytes=10**12,
        groups=60,
        numbers=2400,
        attempts_ms=tuple(_NOW - hours * _HOUR for hours in (5, 4, 3, 1)),
        retry_count=3,
        task_name="Task_FileIngestionTask_20261126160000",
        message="40 files failed:\nrow 7 of one of them",
    )

    def group(number: int) -> FileGroup:
        entries, builds = [], []
        for index in range(40):
            at = number * 40 + index
            day = f"day=2026-{number % 12 + 1:02}-{index % 28 + 1:02}"
            uri = f"{base.source}{day}/part-{at:06}-of-2400.snappy.parquet"
            file = FileInfo(uri, random_numbers.randrange(10**5, 10**9), _NOW - 9 * _HOUR)
            ended = _NOW - 5 * _HOUR + 60_000 * number + 700 * index
            if at % 60 == 13:
                why = f"{uri}: row 7: column DepDelay: 'NA' is not a number ({HOSTILE})"
                entries.append(FileEntry(at, file, FileStatus.FAILED, why, _NOW - _HOUR + 1000 * index))
                continue
            entries.append(FileEntry(at, file, FileStatus.STAGED, ended_ms=ended))
            name = f"{_OFFLINE.raw}_{base.session_id}_{at:06}"
            reader = "pinot" if at % 9 == 0 else "arrow"
            reason = (
                "the column Tags is multi-valued, which Arrow's reader does not read" if at % 9 == 0 else None
            )
            rows, seconds = random_numbers.randrange(10**4, 10**6), random_numbers.uniform(0.5, 300)
            size = random_numbers.randrange(10**6, 10**9)
            staged = StagedSegment(
                name, f"{base.staging_uri}/{name}", at, rows, size // 4, size, seconds, reader, reason
            )
            notes = (ColumnNote(f"col_{HOSTILE}_{index % 5}", index % 2 == 0, 1, at),) if index < 5 else ()
            builds.append(StagedBuild((at,), (staged,), notes))
        return FileGroup(number, tuple(entries), tuple(builds))

    groups = [group(number) for number in range(60)]
    # In a finished session, no file has failed.
    staged = [
        replace(each, entries=tuple(e for e in each.entries if e.status is FileStatus.STAGED))
        for each in groups[:2]
    ]
    old = [f"{_OFFLINE.raw}_20251126T000000000Z_{number:06}" for number in range(300)]
    hostile = replace(base, table=TableName(f"t{HOSTILE}_OFFLINE"), message=HOSTILE, owner=HOSTILE)

    def shown(
        session: Session, found: list[FileGroup], gone: list[str], does: str | None
    ) -> Callable[[], str]:
        report = count_session(session, found, gone)
        return lambda: page(report, now_ms=_NOW, next_does=does, console=_CONSOLE)

    done = replace(base, state=SessionState.DONE, message=None, behind=(("Server_a-long-host-name_8098", 3),))
    empty = replace(base, state=SessionState.INIT, files=0, groups=0, attempts_ms=(), message=None)
    retry = "reads 40 files that are not staged, and files added since (retry 4 of 5)"
    return {
        "session-retried": shown(base, groups, [], retry),
        "session-done": shown(done, staged, old, "compares the source with the table"),
        "session-empty": shown(empty, [], [], "starts over: its plan was not finished"),
        "session-hostile": shown(hostile, groups[:1], [], f"fails: {HOSTILE}"),
    }


def _audit_pages() -> Mapping[str, Callable[[], str]]:
    def judgement(table: TableName, number: int) -> Judgement:
        name = f"{table.raw}__{number % 32}__{number}__20261126T1600Z"
        found = Versioned(ZNRecord(name, simple_fields={"segment.crc": str(number)}), 3)
        faults = list(Fault)
        findings = [Finding(faults[number % len(faults)], f"404 at s3://bucket/{table}/{name}")]
        if number % 3 == 0:
            findings.append(Finding(Fault.FEW_COPIES, f"{number % 2} of 2"))
        record = SegmentRecord.of(table, name, found, folder_sizes=False)
        return Judgement(record, (), tuple(findings), stored_well=False, copies=number % 3)

    def audit(table: TableName, faulty: int, silent: tuple[tuple[str, str], ...] = ()) -> TableAudit:
        return TableAudit(table, 12_000, 32, tuple(judgement(table, n) for n in range(faulty)), silent)

    silent = (("Server_pinot-server-17.pinot.svc.cluster.local_8098", "connection refused"),)
    hostile = TableName(f"t{HOSTILE}_REALTIME")
    faulty = AuditReport(
        "s3://a-bucket-with-a-rather-long-name/pinot/controller/data",
        2,
        _NOW,
        61.3,
        (audit(LONG_TABLE, 120, silent), audit(TableName("ok_OFFLINE"), 0), audit(hostile, 2)),
        (TableFailure(TableName("gone_OFFLINE"), "there is no such table"),),
    )
    clean = AuditReport("s3://bucket/pinot", 2, _NOW, 3.2, (audit(TableName("ok_OFFLINE"), 0),))
    empty = AuditReport("s3://bucket/pinot", 2, _NOW, 0.1, ())
    return {
        "audit-faults": lambda: faulty.page(_CONSOLE),
        "audit-clean": lambda: clean.page(_CONSOLE),
        "audit-empty": lambda: empty.page(_CONSOLE),
    }


def _status(table: TableName, reading: int, *, partitions: int = 12, is_paused: bool = False) -> TableStatus:
    """A table whose partitions have different lags over the readings."""
    state = PartitionState.PAUSED if is_paused else PartitionState.CONSUMING
    found = []
    for number in range(partitions):
        lag = (
            round(40_000 * (1 + math.sin(reading / (5 + number))) / (1 + number)) + 300 * reading * is_paused
        )
        offset = 9_007_199_254_000 + 1000 * reading
        server = f"Server_pinot-server-{number % 4}.pinot.svc.cluster.local_8098"
        status = PartitionStatus(
            number,
            state,
            f"{table.raw}__{number}__{41 + number}__20261126T1540Z",
            () if is_paused else (server,),
            offset=str(offset),
            latest_offset=offset + lag,
            lag=lag,
            lost=(9_007_199_000_000, 9_007_199_000_150) if number == 1 and is_paused else None,
            segment_created_ms=_NOW - _HOUR,
        )
        if number == 3:
            paused = state if is_paused else PartitionState.PARTITION_PAUSED
            holder = Holder("ops@laptop:17", _NOW - 9000, "disk", "to be replaced")
            status = replace(status, state=paused, paused_by=holder)
        found.append(status)
    holder = Holder(
        "deploy@a-machine-with-a-long-name.eu-west-1.compute.internal:21908",
        _NOW - 300_000,
        "migration",
        "the new topic is there at noon; ask the team of the data platform before a resume",
    )
    holders = (holder, Holder(HOSTILE, _NOW - 200_000, HOSTILE)) if is_paused else ()
    table_state = TableState.PAUSED if is_paused else TableState.CONSUMING
    return TableStatus(table, table_state, tuple(found), holders)


def _consumption_pages(file: Path) -> Mapping[str, Callable[[], str]]:
    visits = TableName("visits_REALTIME")

    def watched() -> str:
        with ConsumptionPage(file, _CONSOLE, 2.0) as written:
            for reading in range(60):
                is_paused = 20 <= reading < 30 or reading >= 52
                long = _status(LONG_TABLE, reading, is_paused=is_paused)
                written.show([long, _status(visits, reading, partitions=2)], _NOW - 4000 * (60 - reading))
        return file.read_text(encoding="utf-8")

    def read_once(*found: TableStatus) -> Callable[[], str]:
        def text() -> str:
            with ConsumptionPage(file, _CONSOLE) as written:
                written.show(found, _NOW)
            return file.read_text(encoding="utf-8")

        return text

    unknown = TableStatus(
        visits,
        TableState.INCOMPLETE,
        (PartitionStatus(0, PartitionState.STOPPED), PartitionStatus(1, PartitionState.FAILED)),
        stream_problem="confluent-kafka is not installed: pip install 'pinot-plugins[kafka]'",
    )
    hostile = replace(
        _status(TableName(f"t{HOSTILE}_REALTIME"), 3, is_paused=True), paused_topics={1: HOSTILE}
    )
    many = [_status(TableName(f"table_{number}_REALTIME"), number, partitions=8) for number in range(30)]
    healthy = _status(visits, 1, partitions=3)
    return {
        "consumption-watched": watched,
        "consumption-once": read_once(healthy),
        "consumption-unknown": read_once(unknown),
        "consumption-hostile": read_once(hostile),
        "consumption-many": read_once(*many),
        "consumption-empty": read_once(),
    }


def _upsert_pages() -> Mapping[str, Callable[[], str]]:
    def server(name: str, mark: int, partitions: int) -> ServerRecord:
        progress = {
            number: PartitionProgress(f"{LONG_TABLE.raw}__{number}__7__20261126T1540Z", 10**9 + number, mark)
            for number in range(partitions)
        }
        return ServerRecord(name, "s", mark, _NOW - 90_000 + mark, progress, created=3)

    def status(
        servers: Mapping[str, ServerRecord | None], coordinator: CoordinatorRecord | None, *, runs: bool
    ) -> UpsertStatus:
        holder = LockHolder("upsert@coordinator-0.pinot.svc:17", "coordinator-0", 17, 0.0) if runs else None
        state = CoordinatorState(coordinator, holder, has_begun=coordinator is not None)
        return UpsertStatus(TableMark(LONG_TABLE, 3, servers), state, _NOW)

    names = [f"Server_pinot-server-{number}.pinot.svc.cluster.local_8098" for number in range(5)]
    sent = CoordinatorRecord(
        2, 0, 48_200, _NOW - 300, 12_345_678, {"rows a second": "61,200", HOSTILE: HOSTILE}
    )
    behind = {name: server(name, 48_200 - 40 * index, 8) for index, name in enumerate(names)}
    complete = {names[0]: server(names[0], 48_200, 1)}
    silent = {names[0]: server(names[0], 48_200, 2), HOSTILE: None}
    return {
        "upsert-behind": lambda: upsert_page(status(behind, sent, runs=True), _CONSOLE),
        "upsert-complete": lambda: upsert_page(status(complete, sent, runs=True), _CONSOLE),
        "upsert-silent": lambda: upsert_page(status(silent, sent, runs=False), _CONSOLE),
        "upsert-empty": lambda: upsert_page(status({}, None, runs=False), Console()),
    }
