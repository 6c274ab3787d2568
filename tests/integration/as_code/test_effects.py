"""The effects that a plan predicts, compared with what the cluster then does."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller_client.as_code import Action, Applier, Effect, Kind, ObjectRef, Plan, References, read_folder
from controller_client.as_code.files import FolderSettings, write_folder
from controller_client.as_code.inventory import Inventory
from controller_client.as_code.writing import ObjectWriter
from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import PinotPluginError, QueryError, RejectedError
from controller_client.rest.capabilities import Capability
from controller_client.rest.rebalance import RebalanceOptions
from controller_client.rest.tenants import TenantRole
from controller_client.zookeeper import PropertyStore
from tests.integration.as_code.table_files import ROWS, segment_tars, table_documents
from tests.support.cluster import PinotCluster
from tests.support.needs import has
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

_Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes the documents of a table and of its schema."""


@dataclass
class _Case:
    """A kind of change.

    Attributes:
        name: Its name in messages.
        change: Makes the change.
        effect: The effect that the plan must predict.
        observed: Reads from servers, or by a query, whether the change is in effect.
    """

    name: str
    change: _Change
    effect: Effect
    observed: Callable[[_Table], Any] | None = None


@dataclass
class _Table:
    """The table under test."""

    client: ControllerClient
    store: PropertyStore
    broker: BrokerClient
    name: str
    path: Path
    config: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] = field(default_factory=dict)
    further: dict[ObjectRef, dict[str, Any]] = field(default_factory=dict)

    @property
    def table(self) -> TableName:
        return TableName(f"{self.name}_OFFLINE")

    def applier(self) -> Applier:
        documents = {
            ObjectRef(Kind.SCHEMA, self.name): self.schema,
            ObjectRef(Kind.TABLE, self.table): self.config,
            **self.further,
        }
        write_folder(self.path, FolderSettings(owner=self.name), documents)
        return Applier(self.client, self.store, read_folder(self.path), References({}, self.path))

    def plan(self) -> Plan:
        return self.applier().plan().plan

    def write_alone(self) -> None:
        """Write the planned changes without reloading."""
        planned = self.applier().plan()
        writer = ObjectWriter(self.client, Inventory(self.store, self.name))
        for step in planned.plan.steps:
            if step.action is Action.UPDATE:
                writer.write(planned.targets[step.ref])

    def reload(self) -> None:
        job = self.client.segments.reload(self.table)
        self.client.segments.wait_reloaded(self.table, job, 120)

    def columns(self) -> dict[str, dict[str, Any]]:
        """Return the columns and indexes of segments from all servers, or from one since Pinot 1.5."""
        path = f"/segments/{self.table}/metadata"
        answer = self.client._transport.get_json(path, params={"type": "OFFLINE", "columns": "*"})
        return {
            name: {
                "columns": {each["columnName"]: each for each in found["columns"]},
                "indexes": found.get("indexes") or {},
                "star_tree": found.get("star-tree-index") or [],
            }
            for name, found in answer.items()
        }

    def index(self, column: str, kind: str) -> set[str]:
        """Return whether segments have an index on a column."""
        return {str((each["indexes"].get(column) or {}).get(kind)) for each in self.columns().values()}

    def column(self, column: str, key: str) -> set[str]:
        return {str((each["columns"].get(column) or {}).get(key)) for each in self.columns().values()}

    def star_trees(self) -> set[int]:
        return {len(each["star_tree"]) for each in self.columns().values()}

    def query(self, sql: str) -> Any:
        return self.broker.query(sql.format(table=self.name)).rows

    def assignment(self) -> dict[str, list[str]]:
        view = self.client.tables.external_view(self.table)
        return {segment: sorted(states) for segment, states in view.items()}

    def server_without_a_segment(self) -> str:
        """Return a server that does not have all segments."""
        held = self.assignment().values()
        servers = self.client.tenants.get("DefaultTenant").servers
        return next(name for name in servers if any(name not in holders for holders in held))


@pytest.fixture(scope="module")
def segments(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return segment_tars(tmp_path_factory.mktemp("segments"))


@pytest.fixture
def table(pinot: PinotCluster, unique_table: str, segments: list[Path], tmp_path: Path) -> Iterator[_Table]:
    with (
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
        pinot.broker() as broker,
    ):
        made = _Table(client, store, broker, unique_table, tmp_path)
        made.config, made.schema = table_documents(unique_table)
        made.applier().apply(made.plan())
        for tar in segments:
            client.segments.upload_tar(made.table, tar)
        client.segments.wait_online(made.table, [f"s{number}" for number in range(len(segments))], 60)
        wait_for(lambda: _rows(made) == ROWS * len(segments), "the broker to know the table")
        yield made


def _rows(table: _Table) -> int:
    try:
        found = table.query("select count(*) from {table}")
    except QueryError:
        return -1
    return int(found[0][0]) if found else 0


def _index(**lists: list[str]) -> _Change:
    return lambda table, _schema: table["tableIndexConfig"].update(lists)


def _set(*keys: str, value: Any) -> _Change:
    def change(table: dict[str, Any], _schema: dict[str, Any]) -> None:
        inner = table
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = value

    return change


def _column(name: str, **fields: Any) -> _Change:
    def change(_table: dict[str, Any], schema: dict[str, Any]) -> None:
        for each in schema["dimensionFieldSpecs"]:
            if each["name"] == name:
                each.update(fields)
                return
        schema["dimensionFieldSpecs"].append({"name": name, **fields})

    return change


def _dropped(name: str) -> _Change:
    def change(_table: dict[str, Any], schema: dict[str, Any]) -> None:
        schema["dimensionFieldSpecs"] = [
            each for each in schema["dimensionFieldSpecs"] if each["name"] != name
        ]

    return change


def _both(*several: _Change) -> _Change:
    def change(table: dict[str, Any], schema: dict[str, Any]) -> None:
        for each in several:
            each(table, schema)

    return change


_STAR_TREE = {"dimensionsSplitOrder": ["code"], "functionColumnPairs": ["SUM__n"], "maxLeafRecords": 1}
_TEXT = {"name": "words", "encodingType": "RAW", "indexTypes": ["TEXT"]}
_PARTITIONS = {"columnPartitionMap": {"code": {"functionName": "Modulo", "numPartitions": 3}}}


def _accepted_changes(encoding: bool) -> list[_Case]:
    """Return the changes that the cluster accepts, in an order in which they can be made."""
    return [
        _Case(
            "a column added",
            _column("fresh", dataType="STRING", defaultNullValue="none"),
            Effect.RELOAD,
            lambda t: t.column("fresh", "columnName"),
        ),
        _Case(
            "a computed column added",
            _both(
                _column("twice", dataType="LONG"),
                _set(
                    "ingestionConfig",
                    value={"transformConfigs": [{"columnName": "twice", "transformFunction": "times(n, 2)"}]},
                ),
            ),
            Effect.RELOAD,
            lambda t: t.column("twice", "columnName"),
        ),
        _Case(
            "an inverted index added",
            _index(invertedIndexColumns=["code", "city"]),
            Effect.RELOAD,
            lambda t: t.index("city", "inverted-index"),
        ),
        _Case(
            "an inverted index removed",
            _index(invertedIndexColumns=["city"]),
            Effect.RELOAD,
            lambda t: t.index("code", "inverted-index"),
        ),
        _Case(
            "a range index added",
            _index(rangeIndexColumns=["code"]),
            Effect.RELOAD,
            lambda t: t.index("code", "range-index"),
        ),
        _Case(
            "a bloom filter added",
            _index(bloomFilterColumns=["city"]),
            Effect.RELOAD,
            lambda t: t.index("city", "bloom-filter"),
        ),
        _Case(
            "a JSON index added",
            _both(_index(jsonIndexColumns=["doc"])),
            Effect.RELOAD,
            lambda t: t.index("doc", "json-index"),
        ),
        _Case(
            "a star-tree added without dynamic creation",
            _index(starTreeIndexConfigs=[_STAR_TREE]),  # type: ignore[list-item]
            Effect.NEW_SEGMENTS,
            _Table.star_trees,
        ),
        _Case(
            "a star-tree added with dynamic creation",
            _both(
                _set("tableIndexConfig", "enableDynamicStarTreeCreation", value=True),
                _index(starTreeIndexConfigs=[{**_STAR_TREE, "maxLeafRecords": 2}]),  # type: ignore[list-item]
            ),
            Effect.RELOAD,
            _Table.star_trees,
        ),
        _Case(
            "a dictionary removed",
            _index(noDictionaryColumns=["n"]),
            Effect.RELOAD if encoding else Effect.RE_INGEST,
            lambda t: t.column("n", "hasDictionary"),
        ),
        _Case(
            "the sorted column changed",
            _index(sortedColumn=["city"]),
            Effect.RE_INGEST,
            lambda t: t.column("city", "sorted"),
        ),
        _Case(
            "partitioning added",
            _set("tableIndexConfig", "segmentPartitionConfig", value=_PARTITIONS),
            Effect.RE_INGEST,
            lambda t: t.column("code", "partitionFunction"),
        ),
        _Case(
            "the transform of an existing column changed",
            _set(
                "ingestionConfig",
                value={"transformConfigs": [{"columnName": "twice", "transformFunction": "times(n, 3)"}]},
            ),
            Effect.RE_INGEST,
            lambda t: t.query("select sum(twice) from {table}"),
        ),
        _Case(
            "a query timeout set",
            _set("query", value={"timeoutMs": 20_000}),
            Effect.NOTHING,
            lambda t: t.query("select sum(n), count(*) from {table}"),
        ),
        _Case(
            "a task added",
            _set("task", value={"taskTypeConfigsMap": {"MergeRollupTask": {"1day.mergeType": "concat"}}}),
            Effect.NOTHING,
            lambda t: t.query("select sum(n), count(*) from {table}"),
        ),
        _Case(
            "a quota set",
            _set("quota", value={"storage": "10G"}),
            Effect.NOTHING,
            lambda t: t.query("select sum(n), count(*) from {table}"),
        ),
        _Case(
            "a retention longer than the age of any row",
            _both(
                _set("segmentsConfig", "retentionTimeUnit", value="DAYS"),
                _set("segmentsConfig", "retentionTimeValue", value="900"),
            ),
            Effect.NOTHING,
            lambda t: t.query("select sum(n), count(*) from {table}"),
        ),
    ]


def test_the_plan_predicts_what_the_cluster_does(table: _Table) -> None:
    encoding = has(Capability.RELOAD_ENCODING)
    for case in _accepted_changes(encoding):
        case.change(table.config, table.schema)
        plan = table.plan()
        effects = {effect for step in plan.steps for effect in step.effects}
        assert case.effect in effects, (case.name, plan.to_json())
        assert effects <= {case.effect, Effect.RELOAD, Effect.NOTHING}, (case.name, plan.to_json())
        reloads = [step for step in plan.steps if step.action is Action.RELOAD]
        assert bool(reloads) == (case.effect is Effect.RELOAD), case.name
        assert all(step.segments == 3 and step.size_bytes for step in reloads), case.name
        assert case.observed is not None
        before = case.observed(table)
        table.write_alone()
        assert case.observed(table) == before, f"{case.name}: in effect without a reload"
        table.reload()
        after = case.observed(table)
        assert (after != before) == (case.effect is Effect.RELOAD), f"{case.name}: {before} -> {after}"
        assert table.plan().steps == (), case.name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(_dropped("words"), "words", id="column dropped"),
        pytest.param(_column("code", dataType="STRING"), "dataType", id="data type changed"),
        pytest.param(_column("code", singleValueField=False), "singleValueField", id="single to multi-value"),
        pytest.param(
            _set("tableIndexConfig", "invertedIndexColumns", value=["nowhere"]),
            "nowhere",
            id="unknown column",
        ),
        pytest.param(_set("tenants", "server", value="Nobody"), "Nobody", id="unknown tenant"),
        pytest.param(_set("quota", value={"storage": "much"}), "much", id="invalid quota"),
    ],
)
def test_the_plan_refuses_what_the_cluster_would_refuse(table: _Table, change: _Change, words: str) -> None:
    kept = copy.deepcopy((table.config, table.schema))
    change(table.config, table.schema)
    plan = table.plan()
    if not plan.refused:
        # Not every check can be made beforehand: then the cluster refuses the change, and nothing changes.
        with pytest.raises(RejectedError):
            table.applier().apply(plan)
    else:
        assert words in str(plan.refused) or "this version refuses" in str(plan.refused)
        with pytest.raises(RejectedError, match="would refuse"):
            table.applier().apply(plan)
        writer = ObjectWriter(table.client, Inventory(table.store, table.name))
        planned = table.applier().plan()
        for step in planned.plan.refused:
            with pytest.raises(PinotPluginError):
                writer.write(planned.targets[step.ref])
    table.config, table.schema = kept
    assert table.plan().steps == ()


def test_a_new_default_is_refused_or_applies_to_new_rows(table: _Table) -> None:
    table.schema["dimensionFieldSpecs"][0]["defaultNullValue"] = "?"
    plan = table.plan()
    if has(Capability.SCHEMA_FIELDS_CHANGE):
        before = table.query("select distinct city from {table} order by city limit 100")
        assert plan.steps[0].effects == (Effect.RE_INGEST,)
        table.applier().apply(plan)
        table.reload()
        assert table.query("select distinct city from {table} order by city limit 100") == before
    else:
        assert plan.steps[0].effects == (Effect.IMPOSSIBLE,)
        with pytest.raises(RejectedError):
            table.client.configs.update_schema(table.name, table.schema)


def test_more_replicas_need_a_rebalance(table: _Table) -> None:
    before = table.assignment()
    assert {len(servers) for servers in before.values()} == {1}
    table.config["segmentsConfig"]["replication"] = "2"
    plan = table.plan()
    assert plan.steps[0].effects == (Effect.REBALANCE,)
    assert plan.steps[0].segments == 3
    assert f"pinotctl table rebalance {table.table}" in plan.steps[0].notes[0]
    table.applier().apply(plan)
    table.reload()
    assert table.assignment() == before
    _rebalance(table)
    assert {len(servers) for servers in table.assignment().values()} == {2}


def test_another_tenant_needs_a_rebalance(table: _Table) -> None:
    """The plan creates the tenant before the table needs it; segments move only by the rebalance."""
    before = table.assignment()
    server = table.server_without_a_segment()
    tenant = {"tenant": table.name, "brokers": [], "offline_servers": [server], "realtime_servers": []}
    table.further[ObjectRef(Kind.TENANT, table.name)] = tenant
    table.config["tenants"]["server"] = table.name
    plan = table.plan()
    assert [(step.ref.kind, step.effects) for step in plan.steps] == [
        (Kind.TENANT, (Effect.NOTHING,)),
        (Kind.TABLE, (Effect.REBALANCE,)),
    ]
    table.applier().apply(plan)
    try:
        table.reload()
        assert table.assignment() == before
        _rebalance(table)
        assert [*table.assignment().values()] == [[server]] * 3
        assert _rows(table) == ROWS * 3
        assert table.plan().steps == ()
    finally:
        table.client.tables.delete(table.table)
        table.client.tenants.remove(table.name, TenantRole.SERVER, [server])


def test_a_shorter_retention_deletes_the_segments_that_the_plan_counts(table: _Table) -> None:
    table.config["segmentsConfig"].update(retentionTimeUnit="DAYS", retentionTimeValue="600")
    plan = table.plan()
    assert plan.steps[0].effects == (Effect.DELETION,)
    assert "deletes 1 segment with" in str(plan.steps[0].fields)
    table.applier().apply(plan)
    table.client._transport.request("GET", "/periodictask/run", params={"taskname": "RetentionManager"})
    wait_for(lambda: _rows(table) == ROWS * 2, "the oldest segment to be gone")


def _rebalance(table: _Table) -> None:
    rebalance = table.client.rebalance
    # Before 1.4 the default keeps one replica available, but each segment has only one.
    rebalance.wait(rebalance.start(table.table, RebalanceOptions(min_available_replicas=0)), 120)
