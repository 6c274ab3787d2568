"""Addresses from connections, conditions as passed to the triggerer, times and names; without Airflow."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jinja2
import pytest

from controller_client.as_code import References
from controller_client.common import operator_secrets
from controller_client.common.names import TableName
from controller_client.config import BasicAuth, BearerToken, Secret
from controller_client.errors import (
    ConfigError,
    NotFoundError,
    PartialResultError,
    QueryError,
    UnreachableError,
)
from controller_client.upsert.low_water_mark import TableMark
from controller_client.upsert.record import ServerRecord
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinot_airflow.conditions.base import Condition, is_passing
from pinot_airflow.conditions.consumption import OffsetsAreRead, TableIsPaused
from pinot_airflow.conditions.data import DataReaches
from pinot_airflow.conditions.ingestion import SubtasksAreOver
from pinot_airflow.conditions.upsert import MarkReaches
from pinot_airflow.conditions.writes import WriteIsPublished
from pinot_airflow.names import task_name, try_name, write_id
from pinot_airflow.provider import get_provider_info
from pinot_airflow.times import epoch_ms
from tests.unit.minion_tasks.samples import make_params


@dataclass
class StubConnection:
    """The fields of an Airflow connection that are read."""

    conn_id: str = "pinot_default"
    host: str | None = "controller"
    port: int | None = None
    schema: str | None = None
    login: str | None = None
    password: str | None = None
    extra_dejson: dict[str, Any] = field(default_factory=dict)


def address(**fields: Any) -> ClusterAddress:
    return ClusterAddress.of(StubConnection(**fields))  # type: ignore[arg-type]


def test_a_minimal_and_a_full_connection() -> None:
    minimal = address()
    assert minimal.controller.url == "http://controller:9000"
    assert (minimal.controller.auth, minimal.brokers) == (None, ())
    full = address(
        schema="https",
        port=9443,
        login="me",
        password="hush",
        extra_dejson={
            "broker": "http://a:8099, http://b:8099",
            "zookeeper": "zk:2181/pinot",
            "cluster_name": "C",
            "ca_file": "/etc/ca.pem",
            "tls_verify": False,
            "read_timeout_s": "7.5",
        },
    )
    assert full.controller.url == "https://controller:9443"
    assert isinstance(full.controller.auth, BasicAuth)
    assert (full.controller.tls.ca_file, full.controller.tls.verify) == ("/etc/ca.pem", False)
    assert (full.controller.read_timeout_s, full.controller.connect_timeout_s) == (7.5, 5.0)
    assert full.brokers == ("http://a:8099", "http://b:8099")
    assert (full.zookeeper, full.cluster_name) == ("zk:2181/pinot", "C")
    assert address(host="https://gate/pinot").controller.url == "https://gate/pinot"
    assert address(host="one, two", port=1).controller.urls == ("http://one:1", "http://two:1")


def test_access_to_zookeeper() -> None:
    assert address().access is None, "taken from the environment"
    given = {"zookeeper_auth": "digest", "zookeeper_username": "me", "zookeeper_password": "hush"}
    found = address(extra_dejson=given)
    assert found.access == ZooKeeperAccess(auth=AuthKind.DIGEST, username="me", password=Secret("hush"))
    assert "hush" not in repr(found)
    with pytest.raises(ConfigError, match="zookeeper_auth of the connection pinot_default is 'basic'"):
        address(extra_dejson={"zookeeper_auth": "basic"})


def test_secrets_are_never_shown() -> None:
    basic = address(login="me", password="hush-hush")
    token = address(extra_dejson={"token": "hush-hush"})
    assert isinstance(token.controller.auth, BearerToken)
    for found in (basic, token):
        assert "hush" not in f"{found!r} {found} {PinotAccess(found)!r}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"host": None}, "has no host"),
        ({"extra_dejson": {"tokn": "x"}}, "did you mean token"),
        (
            {"login": "me", "extra_dejson": {"token": "x"}},
            "both token of the connection .* and login of the connection",
        ),
        ({"extra_dejson": {"read_timeout_s": "soon"}}, "read_timeout_s of the connection .* is 'soon'"),
        ({"schema": "ftp"}, "not an http or https address"),
    ],
)
def test_an_invalid_connection_is_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        address(**fields)


@pytest.mark.parametrize(
    "condition",
    [
        DataReaches("t", 7, "day"),
        MarkReaches("t", version=3),
        OffsetsAreRead("t", {"0": 5, "11": 9}),
        SubtasksAreOver("t", "s", stop_on_kill=True),
        TableIsPaused("t", "me"),
        WriteIsPublished("t", "w"),
    ],
)
def test_a_condition_survives_the_triggerers_database(condition: Condition) -> None:
    assert Condition.from_json(json.loads(json.dumps(condition.to_json()))) == condition


@pytest.mark.parametrize(
    "named", ["os:system", "pinot_airflow.access:PinotAccess", "pinot_airflow.conditions.base:x"]
)
def test_other_classes_are_rejected(named: str) -> None:
    with pytest.raises(ConfigError, match="is not a condition"):
        Condition.from_json({"condition": named, "fields": {}})


def test_which_errors_are_temporary() -> None:
    unknown = QueryError("there is no such table")
    unknown.codes = frozenset({190})
    assert all(map(is_passing, (UnreachableError("x"), PartialResultError("x"), unknown)))
    assert not any(map(is_passing, (NotFoundError("x"), ConfigError("x"), QueryError("x"))))


def test_times_need_a_time_zone() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert epoch_ms("2026-01-01T13:00:00+01:00", "until") == epoch_ms(noon, "until") == 1_767_268_800_000
    for wrong in ("2026-01-01", "soon"):
        with pytest.raises(ConfigError, match="until is"):
            epoch_ms(wrong, "until")


class Task:
    dag_id, run_id, task_id, try_number = "d", "manual__2026", "g.t", 2

    def __init__(self, map_index: int | None) -> None:
        self.map_index = map_index


@pytest.mark.parametrize(("index", "end"), [(-1, ""), (None, ""), (0, "/0"), (12, "/12")])
def test_a_write_id_is_the_name_of_its_task(index: int | None, end: str) -> None:
    task = Task(index)
    context: dict[str, Any] = {"ti": task}
    assert task_name(context) == f"airflow/d/manual__2026/g.t{end}"
    assert try_name(context, "quiet") == f"airflow/d/manual__2026/quiet{end}#2"
    for template in (write_id(), write_id("g.t")):
        assert jinja2.Template(template).render(ti=task) == task_name(context)  # no HTML


def test_the_mark_is_that_of_the_slowest_server() -> None:
    table = TableName("t_REALTIME")
    fast, slow = ServerRecord("A", "s", 9, 900, created=1), ServerRecord("B", "s", 7, 700, created=1)
    mark = TableMark(table, None, {"A": fast, "B": slow})
    reached = {
        (version, at_ms): MarkReaches("t", version, at_ms).judge(mark).done
        for version in (7, 8, None)
        for at_ms in (700, 701, None)
    }
    assert {each for each, done in reached.items() if done} == {
        (7, 700),
        (7, None),
        (None, 700),
        (None, None),
    }
    silent = MarkReaches("t", 0).judge(TableMark(table, None, {"A": fast, "B": None}))
    assert (silent.done, "B has not reported" in silent.text) == (False, True)


def test_the_form_of_a_connection_hides_what_is_secret() -> None:
    fields = get_provider_info()["connection-types"][0]["conn-fields"]
    hidden = {key for key, each in fields.items() if each["schema"].get("format") == "password"}
    assert hidden == {"token", "zookeeper_password"}


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The values that a task with clients of the cluster has Airflow mask; stands in for Airflow's parts."""
    values: list[str] = []
    monkeypatch.setattr(operator_secrets, "_observers", {})
    connection = StubConnection()
    base = type("BaseHook", (), {"__init__": lambda _: None, "get_connection": lambda *_: connection})
    parts = SimpleNamespace(BaseHook=base, mask_secret=values.append)
    monkeypatch.setitem(sys.modules, "pinot_airflow.airflow_api", cast("Any", parts))
    monkeypatch.delitem(sys.modules, "pinot_airflow.hook", raising=False)
    hook = importlib.import_module("pinot_airflow.hook")
    for _ in range(2):
        hook.PinotHook().access().close()
    yield values
    monkeypatch.delitem(sys.modules, "pinot_airflow.hook")


def test_values_of_references_are_masked_in_the_log(
    masked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("of-the-file")
    references = References({"PINOT_SECRET_KEY": "of-the-variable"}, tmp_path)
    document = {"a": "${env:PINOT_SECRET_KEY}", "b": ["${file:key}"], "c": "plain"}
    assert references.resolve(document) == {"a": "of-the-variable", "b": ["of-the-file"], "c": "plain"}
    assert masked == ["of-the-variable", "of-the-file"]
    references.draft({"a": "${env:PINOT_SECRET_NONE}"}, {"a": "kept-from-the-cluster"})
    assert masked.pop() == "kept-from-the-cluster"
    monkeypatch.setenv("PINOT_SECRET_ACCESS", "of-a-task")
    properties = {
        "inputDirURI": "s3://b/in",
        "input__fs__prop__region": "r",
        "input__fs__prop__secretKey": "hush",
        "input__fs__prop__accessKey": "${env:PINOT_SECRET_ACCESS}",
    }
    assert "of-a-task" not in repr(make_params(**properties).stores.source)
    assert masked[2:] == ["of-a-task"]
