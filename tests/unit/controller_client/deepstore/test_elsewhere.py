"""Repairs in other processes: what is sent to them, and what is reported if they cannot start."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from controller_client.common.parallel import ENTRY_POINT_GROUP, load_engine, open_parallel_engine
from controller_client.config import BasicAuth, ControllerConfig, Secret
from controller_client.deepstore.distributed_repair import RepairPart
from controller_client.deepstore.judge import Judgement, Replica, judge
from controller_client.deepstore.repair import RepairOutcome
from controller_client.errors import SetupError
from spark_connectors import parallel
from tests.unit.controller_client.deepstore.samples import folder_layout, record


def _part(folder: Path, zookeeper: str = "127.0.0.1:2181") -> RepairPart:
    config = ControllerConfig("http://127.0.0.1:1", auth=BasicAuth("me", Secret("hidden")))
    return RepairPart(config, zookeeper, "cluster", folder_layout(folder), rate=50, parallel=2)


def _judged(name: str) -> Judgement:
    return judge(record(name, crc=7), (Replica("Server_1", "ONLINE", 7),), None, 2)


def test_what_is_sent_to_other_processes_can_be_pickled(tmp_path: Path) -> None:
    part, judged = _part(tmp_path), _judged("s")
    assert judged.repairable
    copy = pickle.loads(pickle.dumps(part))  # noqa: S301
    assert copy == part
    assert copy.config.auth == part.config.auth
    assert "hidden" not in repr(copy)
    assert pickle.loads(pickle.dumps(judged)) == judged  # noqa: S301


def test_a_machine_that_cannot_start_reports_each_segment_as_failed(tmp_path: Path) -> None:
    done = _part(tmp_path, zookeeper="")(iter([_judged("a"), _judged("b")]))
    assert [(each.segment, each.outcome) for each in done] == [
        ("a", RepairOutcome.FAILED),
        ("b", RepairOutcome.FAILED),
    ]
    assert all("'' is not a ZooKeeper address" in str(each.message) for each in done)
    assert pickle.loads(pickle.dumps(done)) == done  # noqa: S301


def test_engines_are_found_by_their_names() -> None:
    assert load_engine(ENTRY_POINT_GROUP, "spark") is parallel.open_parallel_engine
    with pytest.raises(SetupError, match="the engine 'hadoop' is not installed"):
        open_parallel_engine("hadoop", {})
