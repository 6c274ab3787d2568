"""The effects that a plan predicts, compared with what the cluster then does; the tests run in order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from controller_client.as_code import Action, Effect, Kind, ObjectRef
from controller_client.as_code.inventory import Inventory
from controller_client.as_code.writing import ObjectWriter
from controller_client.broker.client import BrokerClient
from controller_client.errors import PinotPluginError, QueryError, RejectedError
from controller_client.rest.capabilities import Capability
from controller_client.rest.rebalance import RebalanceOptions
from controller_client.rest.tenants import TenantRole
from tests.integration.as_code.table_files import AGES_DAYS, ROWS, TableFiles, table_files
from tests.support.cluster import PinotCluster
from tests.support.needs import has
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

_SEGMENTS = len(AGES_DAYS)

_Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes the documents of a table and of its schema."""


@dataclass(frozen=True)
class _Case:
    """A kind of change.

    Attributes:
        fields: The beginnings of the pointers of its fields in a plan.
        change: Makes the change.
        effect: The effect that the plan must predict.
        observed: Reads from servers, or by a query, whether the change is in effect.
    """

    fields: tuple[str, ...]
    change: _Change
    effect: Effect
    observed: Callable[[_Table], Any]


@dataclass
class _Table:
    """The table under test."""

    files: TableFiles
    broker: BrokerClient

    def write_alone(self) -> None:
        """Write the planned changes without reloading."""
        planned = self.files.applier().plan()
        writer = ObjectWriter(self.files.client, Inventory(self.files.store, self.files.name))
        for step in planned.plan.steps:
            if step.action is Action.UPDATE:
                writer.write(planned.targets[step.ref])

    def reload(self) -> None:
        segments, table = self.files.client.segments, self.files.table
        segments.wait_reloaded(table, segments.reload(table), 120)

    def rebalance(self) -> None:
        rebalance = self.files.client.rebalance
        # Before 1.4 the default keeps one replica available, but a segment may have only one.
        rebalance.wait(rebalance.start(self.files.table, RebalanceOptions(min_available_replicas=0)), 120)

    def columns(self) -> dict[str, dict[str, Any]]:
        """Return the columns and indexes of segments from all servers, or from one since Pinot 1.5."""
        path = f"/segments/{self.files.table}/metadata"
        answer = self.files.client._transport.get_json(path, dict, params={"type": "OFFLINE", "columns": "*"})
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
        return self.broker.query(sql.format(table=self.files.name)).rows

    def row_count(self) -> int:
        try:
            found = self.query("select count(*) from {table}")
        except QueryError:
            return -1
        return int(found[0][0]) if found else 0

    def sums(self) -> Any:
        return self.query("select sum(n), count(*) from {table}")

    def assignment(self) -> dict[str, list[str]]:
        view = self.files.client.tables.external_view(self.files.table)
        return {segment: sorted(states) for segment, states in view.items()}


@pytest.fixture(scope="module")
def table(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Table]:
    with table_files(pinot, tmp_path_factory.mktemp("files")) as files, pinot.broker() as broker:
        files.fill(tmp_path_factory.mktemp("segments"))
        made = _Table(files, broker)
        wait_for(lambda: made.row_count() == ROWS * _SEGMENTS, "the broker to know the table")
        yield made


def _index(**lists: Any) -> _Change:
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


def _computed(expression: str) -> _Change:
    transform = {"columnName": "twice", "transformFunction": expression}
    return _set("ingestionConfig", value={"transformConfigs": [transform]})


_REFUSED: dict[str, tuple[_Change, str]] = {
    "column dropped": (_dropped("words"), "words"),
    "data type changed": (_column("code", dataType="STRING"), "dataType"),
    "single to multi-value": (_column("code", singleValueField=False), "singleValueField"),
    "unknown column": (_index(invertedIndexColumns=["nowhere"]), "nowhere"),
    "unknown tenant": (_set("tenants", "server", value="Nobody"), "Nobody"),
    "invalid quota": (_set("quota", value={"storage": "much"}), "much"),
}


def test_the_plan_refuses_what_the_cluster_would_refuse(table: _Table) -> None:
    files = table.files
    for name, (change, words) in _REFUSED.items():
        kept = copy.deepcopy((files.config, files.schema))
        change(files.config, files.schema)
        applier = files.applier()
        planned = applier.plan()
        plan = planned.plan
        # Not every check can be made beforehand: then the cluster refuses the change, and nothing changes.
        with pytest.raises(RejectedError, match="would refuse" if plan.refused else None):
            applier.apply(plan)
        if plan.refused:
            assert words in str(plan.refused) or "this version refuses" in str(plan.refused), name
        writer = ObjectWriter(files.client, Inventory(files.store, files.name))
        for step in plan.refused:
            with pytest.raises(PinotPluginError):
                writer.write(planned.targets[step.ref])
        files.config, files.schema = kept
    assert files.plan().steps == (), "nothing has changed"


def test_a_new_default_is_refused_or_applies_to_new_rows(table: _Table) -> None:
    files = table.files
    kept = copy.deepcopy(files.schema)
    files.schema["dimensionFieldSpecs"][0]["defaultNullValue"] = "?"
    plan = files.plan()
    if has(Capability.SCHEMA_FIELDS_CHANGE):
        cities = "select distinct city from {table} order by city limit 100"
        before = table.query(cities)
        assert plan.steps[0].effects == (Effect.RE_INGEST,)
        files.applier().apply(plan)
        table.reload()
        assert table.query(cities) == before
    else:
        assert plan.steps[0].effects == (Effect.IMPOSSIBLE,)
        with pytest.raises(RejectedError):
            files.client.configs.update_schema(files.name, files.schema)
        files.schema = kept


_STAR_TREE = {"dimensionsSplitOrder": ["code"], "functionColumnPairs": ["SUM__n"], "maxLeafRecords": 1}
_OTHER_TREE = {**_STAR_TREE, "maxLeafRecords": 2}
_PARTITIONS = {"columnPartitionMap": {"code": {"functionName": "Modulo", "numPartitions": 3}}}
_MERGE = {"taskTypeConfigsMap": {"MergeRollupTask": {"1day.mergeType": "concat"}}}
_LONGER_THAN_ANY_AGE = {"retentionTimeUnit": "DAYS", "retentionTimeValue": "900"}


def _without_effect() -> list[_Case]:
    """Return changes that no reload brings into effect; the star-tree lacks dynamic creation."""

    def keep_long(table: dict[str, Any], _schema: dict[str, Any]) -> None:
        table["segmentsConfig"].update(_LONGER_THAN_ANY_AGE)

    return [
        _indexing("starTreeIndexConfigs", [_STAR_TREE], Effect.NEW_SEGMENTS, _Table.star_trees),
        _Case(("/query/",), _set("query", value={"timeoutMs": 20_000}), Effect.NOTHING, _Table.sums),
        _Case(("/task/",), _set("task", value=_MERGE), Effect.NOTHING, _Table.sums),
        _Case(("/quota/",), _set("quota", value={"storage": "10G"}), Effect.NOTHING, _Table.sums),
        _Case(("/segmentsConfig/retention",), keep_long, Effect.NOTHING, _Table.sums),
    ]


def _by_reload() -> list[_Case]:
    fresh = _column("fresh", dataType="STRING", defaultNullValue="none")
    twice = _both(_column("twice", dataType="LONG"), _computed("times(n, 2)"))
    tree = _index(enableDynamicStarTreeCreation=True, starTreeIndexConfigs=[_OTHER_TREE])
    by_column, by_transform = "/dimensionFieldSpecs/", "/ingestionConfig/transformConfigs"
    return [
        _Case((by_column + "fresh",), fresh, Effect.RELOAD, lambda t: t.column("fresh", "columnName")),
        _Case(
            (by_column + "twice", by_transform),
            twice,
            Effect.RELOAD,
            lambda t: t.column("twice", "columnName"),
        ),
        _indexing(
            "invertedIndexColumns",
            ["code", "city"],
            Effect.RELOAD,
            lambda t: t.index("city", "inverted-index"),
        ),
        _indexing("rangeIndexColumns", ["code"], Effect.RELOAD, lambda t: t.index("code", "range-index")),
        _indexing("bloomFilterColumns", ["city"], Effect.RELOAD, lambda t: t.index("city", "bloom-filter")),
        _indexing("jsonIndexColumns", ["doc"], Effect.RELOAD, lambda t: t.index("doc", "json-index")),
        _Case(("/tableIndexConfig/starTreeIndexConfigs",), tree, Effect.RELOAD, _Table.star_trees),
    ]


def _no_dictionary(effect: Effect) -> _Case:
    return _indexing("noDictionaryColumns", ["n"], effect, lambda t: t.column("n", "hasDictionary"))


def _removed_by_reload() -> list[_Case]:
    less = _indexing(
        "invertedIndexColumns", ["city"], Effect.RELOAD, lambda t: t.index("code", "inverted-index")
    )
    return [less, _no_dictionary(Effect.RELOAD)] if has(Capability.RELOAD_ENCODING) else [less]


def _by_new_ingestion() -> list[_Case]:
    again = Effect.RE_INGEST
    return [
        *(() if has(Capability.RELOAD_ENCODING) else (_no_dictionary(again),)),
        _indexing("sortedColumn", ["city"], again, lambda t: t.column("city", "sorted")),
        _indexing(
            "segmentPartitionConfig", _PARTITIONS, again, lambda t: t.column("code", "partitionFunction")
        ),
        _Case(
            ("/ingestionConfig/transformConfigs",),
            _computed("times(n, 3)"),
            again,
            lambda t: t.query("select sum(twice) from {table}"),
        ),
    ]


def _indexing(key: str, value: Any, effect: Effect, observed: Callable[[_Table], Any]) -> _Case:
    return _Case((f"/tableIndexConfig/{key}",), _index(**{key: value}), effect, observed)


@pytest.mark.parametrize("changes", [_without_effect, _by_reload, _removed_by_reload, _by_new_ingestion])
def test_the_plan_predicts_what_the_cluster_does(table: _Table, changes: Callable[[], list[_Case]]) -> None:
    cases = changes()
    for case in cases:
        case.change(table.files.config, table.files.schema)
    plan = table.files.plan()
    fields = [field for step in plan.steps for field in step.fields]
    for case in cases:
        effects = {each.effect for each in fields if each.field.startswith(case.fields)}
        assert case.effect in effects, (case.fields, plan.to_json())
        assert effects <= {case.effect, Effect.RELOAD, Effect.NOTHING}, (case.fields, plan.to_json())
    predicted = {effect for step in plan.steps for effect in step.effects}
    assert predicted <= {*(case.effect for case in cases), Effect.RELOAD, Effect.NOTHING}, plan.to_json()
    reloads = [step for step in plan.steps if step.action is Action.RELOAD]
    assert bool(reloads) == (Effect.RELOAD in {case.effect for case in cases}), plan.to_json()
    assert all(step.segments == _SEGMENTS and step.size_bytes for step in reloads)
    before = {case.fields: case.observed(table) for case in cases}
    table.write_alone()
    written = {case.fields: case.observed(table) for case in cases}
    assert written == before, "in effect without a reload"
    table.reload()
    for case in cases:
        was, now = before[case.fields], case.observed(table)
        assert (now != was) == (case.effect is Effect.RELOAD), f"{case.fields}: {was} -> {now}"
    assert table.files.plan().steps == ()


def test_a_shorter_retention_deletes_the_segments_that_the_plan_counts(table: _Table) -> None:
    files = table.files
    files.config["segmentsConfig"].update(retentionTimeUnit="DAYS", retentionTimeValue="600")
    plan = files.plan()
    assert plan.steps[0].effects == (Effect.DELETION,)
    assert "deletes 1 segment with" in str(plan.steps[0].fields)
    files.applier().apply(plan)
    check = {"taskname": "RetentionManager", "tableName": files.name, "type": "OFFLINE"}
    files.client._transport.request("GET", "/periodictask/run", params=check)
    wait_for(
        lambda: (table.row_count(), len(table.assignment())) == (ROWS * (_SEGMENTS - 1), _SEGMENTS - 1),
        "the oldest segment to be gone",
    )


def test_replicas_and_tenants_need_a_rebalance(table: _Table) -> None:
    """The plan creates the tenant before the table needs it; segments move only by the rebalance."""
    files, before = table.files, table.assignment()
    assert {len(servers) for servers in before.values()} == {1}
    files.config["segmentsConfig"]["replication"] = "2"
    plan = files.plan()
    assert plan.steps[0].effects == (Effect.REBALANCE,)
    assert plan.steps[0].segments == len(before)
    assert f"pinotctl table rebalance {files.table}" in plan.steps[0].notes[0]
    files.applier().apply(plan)
    table.reload()
    assert table.assignment() == before
    table.rebalance()
    replicated = table.assignment()
    assert {len(servers) for servers in replicated.values()} == {2}

    rows, server = table.row_count(), next(iter(replicated.values()))[0]
    tenant = {"tenant": files.name, "brokers": [], "offline_servers": [server], "realtime_servers": []}
    files.further[ObjectRef(Kind.TENANT, files.name)] = tenant
    files.config["tenants"]["server"] = files.name
    files.config["segmentsConfig"]["replication"] = "1"
    plan = files.plan()
    assert [(step.ref.kind, step.effects) for step in plan.steps] == [
        (Kind.TENANT, (Effect.NOTHING,)),
        (Kind.TABLE, (Effect.REBALANCE,)),
    ]
    effects = {each.field: each.effect for each in plan.steps[1].fields}
    assert effects["/tenants/server"] is Effect.REBALANCE
    files.applier().apply(plan)
    try:
        table.reload()
        assert table.assignment() == replicated
        table.rebalance()
        assert [*table.assignment().values()] == [[server]] * len(before)
        wait_for(lambda: table.row_count() == rows, "all rows")
        assert files.plan().steps == ()
    finally:
        files.client.tables.delete(files.table)
        files.client.tenants.remove(files.name, TenantRole.SERVER, [server])
