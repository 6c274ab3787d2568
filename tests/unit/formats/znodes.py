"""The records in ZooKeeper."""

from __future__ import annotations

from dataclasses import replace

from controller_client.as_code.inventory import INVENTORY_FORMAT, Inventory, InventoryEntry
from controller_client.as_code.objects import ObjectRef
from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.consumption import TableControl
from controller_client.consumption.recipes.plan import PLAN_FORMAT, RecipePlan, begin, read_plan
from controller_client.consumption.state.partition_record import (
    PARTITIONS_FORMAT,
    REPORT_FORMAT,
    PartitionReport,
    note_partitions,
    read_partition_holders,
    read_report,
    write_report,
)
from controller_client.consumption.state.pause_record import (
    PAUSE_FORMAT,
    Holder,
    PauseRecord,
    change_record,
    plugin_path,
    read_record,
)
from controller_client.deepstore.reservations import RESERVATIONS_FORMAT, Reservation, Reservations
from controller_client.filestore import FileInfo
from controller_client.helix.failed_hooks import FAILED_HOOKS_FORMAT, read_failed_hooks, write_failed_hooks
from controller_client.models import TableConfig
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.upsert.dropping import DROP_FORMAT, note_drop, noted_drop
from controller_client.upsert.generation import (
    GENERATION_FORMAT,
    REBUILD_FORMAT,
    Generation,
    Incarnation,
    RebuildRequest,
    read_generation,
    read_request,
    request_rebuild,
    write_generation,
)
from controller_client.upsert.record import (
    COORDINATOR_FORMAT,
    SERVER_FORMAT,
    CoordinatorRecord,
    PartitionProgress,
    ServerRecord,
    read_coordinator,
    read_server,
    write_coordinator,
    write_server,
)
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.cluster_id import ID_FORMAT, create_cluster_id, read_cluster_id
from minion_tasks.file_ingestion.run.fired import FIRED_FORMAT, FiredTriggers, fired_path
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
from minion_tasks.file_ingestion.session.records import (
    GROUP_FORMAT,
    HELD_FORMAT,
    NAMES_FORMAT,
    SESSION_FORMAT,
)
from minion_tasks.file_ingestion.session.store import SessionStore, sessions_path
from tests.unit.fake_clock import FakeClock
from tests.unit.formats.sample import INSTANCE, OFFLINE, PLUGINS, PROPERTIES, REALTIME, SESSION, znode

NOW_S = 1_700_000_000.0

_HOLDER = Holder("me@host:1", 5, "maintenance", "until noon")
PAUSE = PauseRecord({"explicit": _HOLDER, "airflow": Holder("you", 6)}, foreign=True, sequences={0: 3, 11: 0})
FINISHED_PAUSE = replace(PAUSE, ends={0: "120", 11: "7"})
_REPORT = PartitionReport(INSTANCE, SESSION, {"t_REALTIME": {0: "t__0__3__20260101T0000Z"}})
_PLAN = RecipePlan("drain", "begun", "me", int(NOW_S * 1000), {"topic": "in", "offsets": {"0": 7}}, 0)
_REF = ObjectRef.from_key("schemas/t")
_ENTRY = InventoryEntry({"schemaName": "t"}, "0123", 7, "me@host:1", frozenset({"reload"}))
SERVER = ServerRecord(
    INSTANCE,
    SESSION,
    41,
    1234,
    {0: PartitionProgress("t__0__3__20260101T0000Z", 90, 41)},
    True,
    created=77,
)
COORDINATOR = CoordinatorRecord(2, 30, 41, 1234, 1000, {"engine": "local", "sent": "41"})
GENERATION = Generation(
    2,
    30,
    "local",
    4,
    64,
    "generation-0f",
    Incarnation(77, "topic-id", "rules"),
    12,
    (5, 0),
    until={0: 90, 1: 80},
    resent_from=27,
    begins={0: 5, 1: 0},
)
_TABLE = TableConfig.from_json({"tableName": "t", "tableType": "REALTIME"})
SESSION_ID = "s1"
_SESSION_PATH = f"{sessions_path(OFFLINE)}/{SESSION_ID}"
INGESTION = Session(
    session_id=SESSION_ID,
    table=OFFLINE,
    state=SessionState.SWITCH,
    created_ms=1,
    updated_ms=2,
    owner="me@host:1",
    mode=IngestionMode.SYNC,
    atomic=True,
    source="file:///in",
    staging_uri="file:///st/s1",
    files=2,
    total_bytes=20,
    groups=1,
    numbers=2,
    from_pages=1,
    attempts_ms=(1, 9),
    retry_count=1,
    task_name="Task_1",
    entry_id="entry",
    behind=(("Server_h_1", 2),),
    message="why",
    request="mine",
    version=0,
)
HELD = replace(INGESTION, restores="s0", held=True)
FILES = FileGroup(
    0,
    (
        FileEntry(0, FileInfo("file:///in/a.csv", 10, 1, "etag"), FileStatus.STAGED, ended_ms=5),
        FileEntry(1, FileInfo("file:///in/b.csv", 10, 1, None), FileStatus.FAILED, "broken", 6, "t_old"),
    ),
    (
        StagedBuild(
            (0,),
            (StagedSegment("t_s1_0", "file:///st/s1/t_s1_0.one", 77, 5, 3, 9, 0.25, "arrow", "why"),),
            (ColumnNote("extra", False, 1, 0),),
        ),
    ),
)
_REPLACED = ["t_0", "t_1"]


def control(store: PropertyStore) -> TableControl:
    client = ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=FakeClock(NOW_S))
    return TableControl(client, store, REALTIME, by="me", watch_stream=False)


def _apply(store: PropertyStore) -> None:
    inventory = Inventory(store, "us")
    inventory.add_pending(_REF, "reload")
    inventory.record_applied(_REF, {"schemaName": "t"}, plan="0123", at_ms=7, by="me@host:1")


def _fired(store: PropertyStore) -> FiredTriggers:
    return FiredTriggers(store, FakeClock(NOW_S), "scheduler")


ZNODES = [
    znode(
        "failed-hooks",
        FAILED_HOOKS_FORMAT,
        f"{PLUGINS}/failed_hooks/{INSTANCE}",
        lambda store: write_failed_hooks(store, INSTANCE, {"upsert": "no compiler"}),
        read_failed_hooks,
        {INSTANCE: {"upsert": "no compiler"}},
    ),
    znode(
        "pause",
        PAUSE_FORMAT,
        PROPERTIES + plugin_path(REALTIME, "pause"),
        lambda store: change_record(store, REALTIME, lambda _present: PAUSE),
        lambda store: read_record(store, REALTIME),
        PAUSE,
    ),
    znode(
        "pause-finished",
        PAUSE_FORMAT,
        PROPERTIES + plugin_path(REALTIME, "pause"),
        lambda store: change_record(store, REALTIME, lambda _present: FINISHED_PAUSE),
        lambda store: read_record(store, REALTIME),
        FINISHED_PAUSE,
    ),
    znode(
        "paused-partitions",
        PARTITIONS_FORMAT,
        PROPERTIES + plugin_path(REALTIME, "partitions"),
        lambda store: note_partitions(store, REALTIME, {0}, _HOLDER, [0]),
        lambda store: read_partition_holders(store, REALTIME),
        {0: _HOLDER},
    ),
    znode(
        "deep-store",
        ID_FORMAT,
        f"{PROPERTIES}/PINOT_PLUGINS/deep_store",
        lambda store: create_cluster_id(store, "0f" * 16),
        read_cluster_id,
        "0f" * 16,
    ),
    znode(
        "stopping-servers",
        RESERVATIONS_FORMAT,
        f"{PROPERTIES}/PINOT_PLUGINS/stopping_servers",
        lambda store: Reservations(store, FakeClock(NOW_S)).reserve(["Server_a_1"], 30, "me", "0f" * 16),
        lambda store: Reservations(store, FakeClock(NOW_S)).active(),
        [Reservation("Server_a_1", "me", int(NOW_S + 1800) * 1000)],
    ),
    znode(
        "partition-report",
        REPORT_FORMAT,
        f"{PLUGINS}/servers/{INSTANCE}",
        lambda store: write_report(store, _REPORT),
        lambda store: read_report(store, INSTANCE),
        _REPORT,
    ),
    znode(
        "recipe-plan",
        PLAN_FORMAT,
        PROPERTIES + plugin_path(REALTIME, "plan"),
        lambda store: begin(control(store), _PLAN.recipe, _PLAN.data),
        lambda store: read_plan(store, REALTIME),
        _PLAN,
    ),
    znode(
        "as-code-inventory",
        INVENTORY_FORMAT,
        f"{PROPERTIES}/PINOT_PLUGINS/as_code/us/schemas:t",
        _apply,
        lambda store: Inventory(store, "us").entries(),
        {_REF: _ENTRY},
    ),
    znode(
        "upsert-server",
        SERVER_FORMAT,
        f"{PLUGINS}/upsert/{REALTIME}/servers/{INSTANCE}",
        lambda store: write_server(store, REALTIME, SERVER),
        lambda store: read_server(store, REALTIME, INSTANCE),
        SERVER,
    ),
    znode(
        "upsert-coordinator",
        COORDINATOR_FORMAT,
        f"{PLUGINS}/upsert/{REALTIME}/coordinator",
        lambda store: write_coordinator(store, REALTIME, COORDINATOR),
        lambda store: read_coordinator(store, REALTIME),
        COORDINATOR,
    ),
    znode(
        "upsert-drop",
        DROP_FORMAT,
        f"{PLUGINS}/upsert/{REALTIME}/drop",
        lambda store: note_drop(store, REALTIME, _TABLE),
        lambda store: noted_drop(store, REALTIME),
        _TABLE,
    ),
    znode(
        "upsert-generation",
        GENERATION_FORMAT,
        f"{PLUGINS}/upsert/{REALTIME}/generation",
        lambda store: write_generation(store, REALTIME, GENERATION),
        lambda store: read_generation(store, REALTIME),
        GENERATION,
    ),
    znode(
        "upsert-rebuild",
        REBUILD_FORMAT,
        f"{PLUGINS}/upsert/{REALTIME}/rebuild",
        lambda store: request_rebuild(store, REALTIME, partitions=8, buckets=128),
        lambda store: read_request(store, REALTIME),
        RebuildRequest(1, 8, 128),
        is_skipped=True,
    ),
    znode(
        "ingestion-session",
        SESSION_FORMAT,
        PROPERTIES + _SESSION_PATH,
        lambda store: SessionStore(store, OFFLINE).create(INGESTION),
        lambda store: SessionStore(store, OFFLINE).load(SESSION_ID),
        INGESTION,
    ),
    znode(
        "ingestion-held",
        HELD_FORMAT,
        PROPERTIES + _SESSION_PATH,
        lambda store: SessionStore(store, OFFLINE).create(HELD),
        lambda store: SessionStore(store, OFFLINE).load(SESSION_ID),
        HELD,
    ),
    znode(
        "ingestion-files",
        GROUP_FORMAT,
        f"{PROPERTIES}{_SESSION_PATH}/groups/00000",
        lambda store: SessionStore(store, OFFLINE).create_group(SESSION_ID, FILES),
        lambda store: SessionStore(store, OFFLINE).group(SESSION_ID, 0),
        FILES,
    ),
    znode(
        "ingestion-replaced",
        NAMES_FORMAT,
        f"{PROPERTIES}{_SESSION_PATH}/from/00000",
        lambda store: SessionStore(store, OFFLINE).write_from(SESSION_ID, _REPLACED),
        lambda store: SessionStore(store, OFFLINE).read_from(INGESTION),
        _REPLACED,
    ),
    znode(
        "ingestion-trigger",
        FIRED_FORMAT,
        PROPERTIES + fired_path(OFFLINE),
        lambda store: _fired(store).claim(OFFLINE, NOW_S),
        lambda store: _fired(store).was_made(OFFLINE, NOW_S),
        True,
    ),
]
