from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller_client.helix.task_queue import job_record
from controller_client.helix.unfinished_subtasks import Unfinished, unfinished_subtasks
from controller_client.zookeeper.record import ZNRecord
from tests.unit.memory_zookeeper import MemoryPropertyStore, MemoryZooKeeper

TYPE = "FileIngestionTask"


class Cluster:
    """Queues with tasks, in Helix's form."""

    def __init__(self) -> None:
        self.store = MemoryPropertyStore()
        self._jobs: dict[str, dict[str, str]] = {}

    def queue(self, task_type: str, state: str = "IN_PROGRESS") -> None:
        record = ZNRecord(
            "WorkflowContext",
            simple_fields={"STATE": state},
            map_fields={"JOB_STATES": self._jobs.setdefault(task_type, {})},
        )
        self._put(f"/c/PROPERTYSTORE/TaskRebalancer/TaskQueue_{task_type}/Context", record)

    def task(
        self,
        number: int,
        states: Sequence[str | None],
        *,
        tag: str = "a",
        state: str = "IN_PROGRESS",
        task_type: str = TYPE,
    ) -> str:
        queue = f"TaskQueue_{task_type}"
        job = f"{queue}_Task_{task_type}_{number}"
        self._jobs.setdefault(task_type, {})[job] = state
        record = job_record(
            job,
            queue,
            {f"{number}_{each}": {} for each in range(len(states))},
            command=task_type,
            minion_tag=tag,
            timeout_s=1,
            concurrent_per_instance=1,
        )
        self._put(f"/c/CONFIGS/RESOURCE/{job}", record)
        if state != "NOT_STARTED":
            fields = {str(each): {"STATE": found} for each, found in enumerate(states) if found}
            self._put(
                f"/c/PROPERTYSTORE/TaskRebalancer/{job}/Context", ZNRecord("TaskContext", map_fields=fields)
            )
        self.queue(task_type)
        return job

    def _put(self, path: str, record: ZNRecord) -> None:
        self.store.zookeeper.znodes[path] = (record.to_bytes(), 0)


def test_no_queue_at_all() -> None:
    assert unfinished_subtasks(MemoryPropertyStore()) == {}


# Subtasks of a stopped or failed task may have any state.
@pytest.mark.parametrize(
    ("state", "subtasks", "found"),
    [
        (
            "IN_PROGRESS",
            ["RUNNING", "RUNNING", "COMPLETED", "TASK_ABORTED", "INIT", None, "DROPPED"],
            {"a": Unfinished(waiting=3, running=2)},
        ),
        ("NOT_STARTED", [None, None, None], {"a": Unfinished(waiting=3)}),
        ("COMPLETED", ["COMPLETED"], {}),
        ("FAILED", [None, "RUNNING"], {}),
        ("IN_PROGRESS", ["COMPLETED", "COMPLETED"], {}),
    ],
)
def test_subtasks_of_a_task(state: str, subtasks: Sequence[str | None], found: dict[str, Unfinished]) -> None:
    cluster = Cluster()
    cluster.task(1, subtasks, state=state)
    assert unfinished_subtasks(cluster.store) == found


def test_subtasks_are_counted_by_tag_over_all_types() -> None:
    cluster = Cluster()
    cluster.task(1, [None])
    cluster.task(2, ["RUNNING"], task_type="MergeRollupTask")
    cluster.task(3, [None, None], tag="minion_untagged", task_type="MergeRollupTask")
    found = unfinished_subtasks(cluster.store)
    assert found == {"a": Unfinished(1, 1), "minion_untagged": Unfinished(2, 0)}
    assert unfinished_subtasks(cluster.store, "MergeRollupTask") == {
        "a": Unfinished(0, 1),
        "minion_untagged": Unfinished(2, 0),
    }


def test_a_type_whose_name_starts_with_that_of_another() -> None:
    cluster = Cluster()
    cluster.task(1, [None], task_type="MyTask")
    cluster.task(2, [None, None], task_type="MyTask2")
    assert unfinished_subtasks(cluster.store, "MyTask") == {"a": Unfinished(1)}


def test_a_stopped_queue_needs_minions_only_for_started_tasks() -> None:
    cluster = Cluster()
    cluster.task(1, [None, None], state="NOT_STARTED")
    cluster.task(2, ["RUNNING"])
    cluster.queue(TYPE, state="STOPPED")
    assert unfinished_subtasks(cluster.store) == {"a": Unfinished(running=1)}


def test_a_task_deleted_in_the_meantime() -> None:
    cluster = Cluster()
    job = cluster.task(1, [None])
    cluster.task(2, [None])
    del cluster.store.zookeeper.znodes[f"/c/CONFIGS/RESOURCE/{job}"]
    assert unfinished_subtasks(cluster.store) == {"a": Unfinished(1)}


def test_three_round_trips_however_many_tasks() -> None:
    cluster = Cluster()
    for number in range(50):
        cluster.task(number, [None], task_type=f"Type{number % 5}")
    trips: list[int] = []
    get_many = MemoryZooKeeper.get_many

    def counted(self: MemoryZooKeeper, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        trips.append(len(paths))
        return get_many(self, paths)

    cluster.store.zookeeper.get_many = counted.__get__(cluster.store.zookeeper)  # type: ignore[method-assign]
    assert unfinished_subtasks(cluster.store) == {"a": Unfinished(50)}
    assert trips == [5, 100]
    assert cluster.store.zookeeper.read_counts["/c/PROPERTYSTORE/TaskRebalancer"] == 1
