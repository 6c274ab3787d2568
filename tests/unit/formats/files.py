"""The records in files and messages, and those that other systems keep for this project."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from controller_client.as_code.effects import Effect
from controller_client.as_code.files import FORMAT as FOLDER_FORMAT
from controller_client.as_code.files import FolderSettings, read_folder, write_folder
from controller_client.as_code.plan import PLAN_FORMAT, Action, Plan, PlannedField, Step, load_plan, save_plan
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import open_deep_store
from controller_client.deepstore.store_mark import (
    MARK_FILE,
    MARK_FORMAT,
    StoreMark,
    StoreOwner,
)
from controller_client.filestore import FileInfo
from controller_client.models import TableConfig
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.upsert.settings import SETTINGS_FORMAT, UpsertSettings
from controller_client.upsert.update_message import (
    UPDATES_FORMAT,
    Events,
    VersionEnd,
    VersionRecord,
    decode_any,
    encode_end,
    encode_events,
    encode_record,
)
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.cluster_id import create_cluster_id
from controller_client.zookeeper.holder import HOLDER_FORMAT, LockHolder
from jvm_bridge.cluster_ports import ClusterPorts
from jvm_bridge.local_cluster.processes import ProcessRecord
from jvm_bridge.local_cluster.state import CLUSTER_FORMAT, ClusterState, read_state, write_state
from key_coordinator.entries import BUCKET_FORMAT, Entries
from key_coordinator.state.store import STATE_FORMAT, KeyStore, StoredUpTo
from minion_tasks.file_ingestion.engine.subtask import SUBTASK_FORMAT, Subtask
from minion_tasks.file_ingestion.plan.provenance import PROVENANCE_FORMAT, Provenance
from pinot_airflow.conditions.base import CONDITION_FORMAT, Condition
from pinot_airflow.conditions.upsert import MarkReaches
from server_hooks.upsert.checkpoint import CHECKPOINT_FORMAT, BitmapCheckpoint
from server_hooks.upsert.updates_log import LOG_FORMAT, UpdatesLog
from spark_connectors.write.staged import COMMIT_FORMAT, StagedByTask
from tests.unit.formats.sample import OFFLINE, Sample, document, file, message
from tests.unit.memory_zookeeper import CLUSTER, memory_store

_PLAN = Plan(
    owner="us",
    folder="/x",
    controller="http://c:9000",
    steps=(
        Step(
            action=Action.UPDATE,
            object="tables/x_OFFLINE",
            fields=(PlannedField(field="/query/timeoutMs", old=1, new=2),),
            effects=(Effect.NOTHING,),
            fingerprint="0123",
        ),
    ),
)
_SETTINGS = FolderSettings(owner="us")
UP_TO = StoredUpTo(1, 7, {0: 9, 1: 4}, (5,), keys=0, refused=3, record_offset=20)
_ENTRIES = Entries(
    np.array([1, 2], np.uint64),
    np.array([3, 4], np.uint64),
    np.array([0, 1], np.int32),
    np.array([5, 6], np.int64),
    np.array([-7, 8], np.int64),
    np.array([False, True]),
)
_EVENTS = Events(7, np.array([5, 6], np.int64), np.array([False, True]))
END = VersionEnd(7, 5, 9, 1234)
_RECORD = VersionRecord(7, 2, {0: 9, 1: 4}, {0: 5, 1: 0})
_MARK = StoreMark("0f" * 16, CLUSTER)
_LOCK = LockHolder("apply", "host", 1, 1234.5)
_SUBTASK = Subtask(OFFLINE, "s1", 1, (0, 2))
_PROVENANCE = Provenance("s1", (FileInfo("file:///in/a.csv", 10, 1, "etag"),))
_CLUSTER = ClusterState(
    ClusterPorts.from_base(21000, servers=2), "0.11.0", {"broker": ProcessRecord("broker", 17, 1234.5)}
)
UPSERT = UpsertSettings(("user", "account"), "at", "t_REALTIME.updates")
STAGED = StagedByTask(
    3, (StagedSegment("t_spark_0", "file:///st/t_spark_0", 77, 5, 3, 9, 0.25, "arrow"),), 0.5, 0.25
)


def _write_state(folder: Path) -> None:
    store = KeyStore(folder)
    store.begin(UP_TO)
    store.close()


def _read_state(folder: Path) -> StoredUpTo | None:
    store = KeyStore(folder)
    try:
        return store.up_to
    finally:
        store.close()


def _write_log(folder: Path) -> None:
    value = encode_end(END)
    UpdatesLog(folder).append([(20, value, END)])


def _read_log(folder: Path) -> list[Any]:
    return list(UpdatesLog(folder).read())


def _write_checkpoint(folder: Path) -> None:
    checkpoint = BitmapCheckpoint(folder / "checkpoint.json")
    checkpoint.count_ends_from(1, 30)
    checkpoint.save({"t__0__3": ("", 21)})


def _read_checkpoint(checkpoint: BitmapCheckpoint, folder: Path) -> tuple[int, dict[int, int]]:
    # The signature of a folder without one is empty.
    return checkpoint.since("t__0__3", folder / "none"), checkpoint.ends_from


def _settings_of(custom: dict[str, str]) -> UpsertSettings:
    return UpsertSettings.of(TableConfig.from_json(_table(custom)))


def _table(custom: dict[str, str]) -> dict[str, Any]:
    return {"tableName": "t", "tableType": "REALTIME", "metadata": {"customConfigs": custom}}


def _custom() -> dict[str, str]:
    found = UPSERT.put_into(TableConfig.from_json(_table({}))).to_json()
    return dict(found["metadata"]["customConfigs"])


def _next_digit(data: bytes) -> bytes:
    """Return the next version of a record that starts with three letters and its version."""
    return data[:3] + str(int(data[3:4]) + 1).encode() + data[4:]


def _columns(entries: Entries) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in asdict(entries).items()}


def _decoded(data: bytes) -> Any:
    found = decode_any(data, where="t.updates, partition 0, offset 20")
    if isinstance(found, Events):
        return {name: each if name == "version" else each.tolist() for name, each in asdict(found).items()}
    return found


def _unpickled(data: bytes) -> StagedByTask:
    found = pickle.loads(data)  # noqa: S301  # of our own making
    assert isinstance(found, StagedByTask)
    return found


def _log_of_later_release() -> Sample:
    """The log's version is in the name of its files."""
    known = file("log-00000000000000000020.open", LOG_FORMAT, _write_log, _read_log, [(20, END)])
    mark = b"later: "

    def read(data: bytes, folder: Path) -> object:
        if data.startswith(mark):
            (folder / f"20.open.v{LOG_FORMAT.version + 1}").write_bytes(data.removeprefix(mark))
            return _read_log(folder)
        return known.read(data, folder)

    return replace(known, read=read, newer=lambda data: mark + data)


def _write_mark(folder: Path) -> None:
    store, _ = memory_store()
    create_cluster_id(store, _MARK.id)
    _owner(store, folder).claim()


def _owner(store: PropertyStore, folder: Path) -> StoreOwner:
    return StoreOwner(store, StoreLayout(f"file://{folder}", "http://c:9000"), open_deep_store)


FILES = [
    file(
        "as-code-plan.json",
        PLAN_FORMAT,
        lambda folder: save_plan(_PLAN, folder / "code-plan.json"),
        lambda folder: load_plan(folder / "code-plan.json"),
        _PLAN,
    ),
    file(
        "folder-cluster.yaml",
        FOLDER_FORMAT,
        lambda folder: write_folder(folder, _SETTINGS, {}),
        lambda folder: read_folder(folder).settings,
        _SETTINGS,
        lambda data: data.replace(b"format: 1", b"format: 2"),
    ),
    file(
        f"mark-{MARK_FILE}",
        MARK_FORMAT,
        _write_mark,
        lambda folder: _owner(memory_store()[0], folder).read(),
        _MARK,
    ),
    file("state-manifest.json", STATE_FORMAT, _write_state, _read_state, UP_TO),
    file(
        "server-checkpoint.json",
        CHECKPOINT_FORMAT,
        _write_checkpoint,
        lambda folder: _read_checkpoint(BitmapCheckpoint(folder / "checkpoint.json"), folder),
        (21, {1: 30}),
    ),
    file("local-cluster.json", CLUSTER_FORMAT, lambda to: write_state(to, _CLUSTER), read_state, _CLUSTER),
    _log_of_later_release(),
    document(
        "lock-holder",
        HOLDER_FORMAT,
        lambda: json.loads(_LOCK.to_json()),
        lambda found: LockHolder.from_json(json.dumps(found), "/c/PINOT_PLUGINS/locks/as_code"),
        _LOCK,
    ),
    document("subtask", SUBTASK_FORMAT, _SUBTASK.to_configs, Subtask.from_configs, _SUBTASK),
    document(
        "segment-source-files",
        PROVENANCE_FORMAT,
        _PROVENANCE.to_custom_map,
        lambda found: Provenance.from_custom_map(found, segment="t_s1_0"),
        _PROVENANCE,
    ),
    document(
        "airflow-condition",
        CONDITION_FORMAT,
        MarkReaches("t", version=3).to_json,
        Condition.from_json,
        MarkReaches("t", version=3),
    ),
    document("upsert-settings", SETTINGS_FORMAT, _custom, _settings_of, UPSERT),
    message(
        "spark-commit.pickle",
        COMMIT_FORMAT,
        lambda: pickle.dumps(STAGED, protocol=4),
        lambda data: _unpickled(data).checked("the write w of t_OFFLINE"),
        STAGED,
        lambda data: pickle.dumps(replace(_unpickled(data), format=COMMIT_FORMAT.version + 1)),
    ),
    message(
        "bucket.bin",
        BUCKET_FORMAT,
        _ENTRIES.pack,
        lambda data: _columns(Entries.unpack(data)),
        _columns(_ENTRIES),
        _next_digit,
    ),
    message(
        "updates-events.bin",
        UPDATES_FORMAT,
        lambda: b"".join(encode_events(_EVENTS)),
        _decoded,
        {"version": 7, "offsets": [5, 6], "deleted": [False, True]},
        _next_digit,
    ),
    message("updates-end.bin", UPDATES_FORMAT, lambda: encode_end(END), _decoded, END, _next_digit),
    message(
        "updates-record.bin",
        UPDATES_FORMAT,
        lambda: encode_record(_RECORD),
        _decoded,
        _RECORD,
        _next_digit,
    ),
]
