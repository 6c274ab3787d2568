"""An export has no differences from the cluster, and a changed field is the only difference."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from controller_client.as_code import Applier, Kind, ObjectRef, References, export_cluster, read_folder
from controller_client.as_code.fields import changes, leaves, value_at
from controller_client.as_code.live import all_of, read_cluster
from controller_client.as_code.wanted import read_targets
from controller_client.client import ControllerClient
from controller_client.errors import PinotPluginError, RejectedError
from controller_client.rest.paths import path_of
from controller_client.zookeeper import PropertyStore
from tests.integration.as_code.random_configs import (
    COLUMNS,
    TABLE_CONFIG,
    other_value,
    schemas,
    table_configs,
)
from tests.support.cluster import PinotCluster
from tests.support.program import result_of

pytestmark = pytest.mark.cluster

_TABLES, _TABLES_FULL = 13, 250


@pytest.fixture(scope="module")
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with pinot.client() as client:
        yield client


@pytest.fixture(scope="module")
def classes() -> Mapping[str, Any]:
    """Fields of the classes of the running Pinot."""
    found: dict[str, Any] = result_of("tests.support.class_fields", [TABLE_CONFIG])
    return found


class _Made(NamedTuple):
    prefix: str
    tables: list[str]


@pytest.fixture(scope="module")
def made(
    client: ControllerClient, classes: Mapping[str, Any], full: bool, random_seed: int
) -> Iterator[_Made]:
    """Random tables that the cluster has accepted."""
    wanted = _TABLES_FULL if full else _TABLES
    documents: list[tuple[dict[str, Any], dict[str, Any]]] = []

    @seed(random_seed)
    @settings(
        max_examples=wanted,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(table_configs(classes), schemas())
    def collect(table: dict[str, Any], schema: dict[str, Any]) -> None:
        documents.append((table, schema))

    collect()
    prefix = f"r_{uuid.uuid4().hex[:8]}_"
    made = _Made(prefix, [f"{prefix}{number}" for number in range(len(documents))])
    try:
        all_of(lambda each: _create(client, *each), list(zip(made.tables, documents, strict=True)))
        yield made
    finally:
        for name in made.tables:  # one by one: each changes the one record of all brokers
            _drop(client, name)


def test_an_export_has_no_differences(
    client: ControllerClient, pinot: PinotCluster, made: _Made, tmp_path: Path
) -> None:
    report = export_cluster(client, tmp_path, owner=made.prefix, tables=made.tables)
    folder = read_folder(tmp_path)
    assert len(folder.documents) == report.objects == 2 * len(made.tables)
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        plan = Applier(client, store, folder, References({}, tmp_path), keep_unset=True).plan().plan
    assert [(step.object, [each.field for each in step.fields]) for step in plan.steps] == []


def test_omitted_defaults_are_not_differences(client: ControllerClient, made: _Made, tmp_path: Path) -> None:
    """A file may omit what the cluster fills in."""
    live = _live(client, made)
    left_out = 0
    for ref in (ref for ref in live if ref.kind is Kind.TABLE):
        normal = client.configs.read_table(_least(ref.name)).document
        document = _without(live[ref], normal)
        left_out += len(list(leaves(live[ref]))) - len(list(leaves(document)))
        target = _target(client, live, ref, document, tmp_path)
        assert [change.path for change in changes(live[ref], target)] == [], ref
    assert left_out > len(made.tables)


def test_a_changed_field_is_the_only_difference(
    client: ControllerClient, made: _Made, tmp_path: Path, classes: Mapping[str, Any], full: bool
) -> None:
    live = _live(client, made)
    choices = _choices(classes)
    tried = 0
    told: list[str] = []
    rng = random.Random(3)
    for ref in live:
        fields = [
            (at, value)
            for at, value in leaves(live[ref])
            if at[-1] not in _IDENTITY and not _is_implicit(live[ref], at)
        ]
        for at, value in rng.sample(fields, min(24 if full else 8, len(fields))):
            document = _without_other_name(live[ref], at)
            document, changed = _with(document, at, other_value(_key(at), value, choices.get(_key(at))))
            try:
                target = _target(client, live, ref, document, tmp_path)
            except PinotPluginError:
                continue  # the cluster cannot read this value, so no plan can set it
            tried += 1
            found = [change.pointer for change in changes(live[ref], target)]
            allowed = {changed[-1], *_FOLLOWS.get(changed[-1], ()), *_names(changed[-1])}
            if changed not in found or not {each[-1] for each in found} <= allowed:
                told.append(f"{ref} {at}: {value!r} -> {value_at(document, at)!r}: {found}")
    assert told == [], f"{len(told)} of {tried}:\n" + "\n".join(told)
    assert tried > 5 * len(made.tables)


_IDENTITY = {"tableName", "tableType", "schemaName", "name", "fieldType"}
# The older name of a setting, which Pinot reads only if the newer one is missing.
_IDENTITY |= {"indexType"}

_FOLLOWS = {
    "indexTypes": {"indexType"},
    "mode": {"partialUpsertStrategies", "defaultPartialUpsertStrategy"},  # PARTIAL has defaults of its own
    "enableIndexableExtras": {"indexableExtrasField"},
    "enableUnindexableExtras": {"unindexableExtrasField"},
}
"""Fields that Pinot fills in or leaves out, depending on another field."""

_TWO_NAMES = (
    {"preload", "enablePreload"},
    {"snapshot", "enableSnapshot"},
    {"assignmentStrategy", "segmentAssignmentStrategy"},
)
"""Names of one setting: Pinot writes both, and if both are given, it reads only one of them."""


_LEAST = {"tableType": "OFFLINE", "tableIndexConfig": {}, "tenants": {}, "metadata": {}}


def _least(name: str) -> dict[str, Any]:
    """Return the smallest config of a table."""
    return {"tableName": name, "segmentsConfig": {"replication": "1"}, **_LEAST}


def _create(client: ControllerClient, name: str, documents: tuple[dict[str, Any], dict[str, Any]]) -> None:
    config, schema = documents
    client.configs.create_schema({**schema, "schemaName": name})
    least = _least(name)
    taken = dict(least)
    for key, value in config.items():
        # The controller cannot read every value of a field's type: leave out such a part.
        document = {**value, **least["segmentsConfig"]} if key == "segmentsConfig" else value
        if _readable(client, {**least, key: document}):
            taken[key] = document
    try:
        _post_unchecked(client, taken)
    except RejectedError:
        left_out = dict.fromkeys(("tierConfigs", "instanceAssignmentConfigMap", "quota"))
        _post_unchecked(client, {**taken, **left_out})


def _readable(client: ControllerClient, config: Mapping[str, Any]) -> bool:
    try:
        client.configs.read_table(config)
    except RejectedError:
        return False
    return True


def _post_unchecked(client: ControllerClient, config: Mapping[str, Any]) -> None:
    client._transport.request("POST", "/tables", params={"validationTypesToSkip": "ALL"}, json=config)


def _drop(client: ControllerClient, name: str) -> None:
    with suppress(PinotPluginError):
        client._transport.request("DELETE", path_of("tables", name), params={"type": "offline"})
        client.schemas.delete(name)


def _live(client: ControllerClient, made: _Made) -> dict[ObjectRef, Mapping[str, Any]]:
    found = read_cluster(client, [Kind.SCHEMA, Kind.TABLE])
    return {ref: each for ref, each in found.items() if ref.name.startswith(made.prefix)}


def _target(
    client: ControllerClient,
    live: Mapping[ObjectRef, Mapping[str, Any]],
    ref: ObjectRef,
    document: Mapping[str, Any],
    tmp_path: Path,
) -> Mapping[str, Any]:
    (tmp_path / "cluster.yaml").write_text("owner: test\n")
    folder = replace(read_folder(tmp_path), documents={ref: document})
    [target] = read_targets(client, folder, live, References({}, tmp_path), keep_unset=True)
    if target.refusal:
        raise RejectedError(target.refusal)
    return target.document


def _with(document: Any, at: tuple[str, ...], value: Any) -> tuple[Any, tuple[str, ...]]:
    """Copy a document with another value; also return the field that then differs."""
    copy = json.loads(json.dumps(document))
    inner = _inner(copy, at)
    inner[int(at[-1]) if isinstance(inner, list) else at[-1]] = value
    [change] = changes(document, copy)
    return copy, change.pointer


def _inner(document: Any, at: tuple[str, ...]) -> Any:
    """Return the object or list that has a field."""
    for key in at[:-1]:
        document = document[int(key) if isinstance(document, list) else key]
    return document


def _without(document: Any, normal: Any) -> Any:
    """Copy a document without the fields that equal their defaults."""
    if not isinstance(document, dict) or not isinstance(normal, dict):
        return document
    kept = {*_LEAST, "tableName", "segmentsConfig", "replication"}
    return {
        key: _without(value, normal.get(key)) if isinstance(value, dict) else value
        for key, value in document.items()
        if key in kept or key not in normal or value != normal[key]
    }


def _names(key: str) -> set[str]:
    return next((names for names in _TWO_NAMES if key in names), {key})


def _without_other_name(document: Any, at: tuple[str, ...]) -> Any:
    """Copy a document without the other name of a setting, if it has two."""
    copy = json.loads(json.dumps(document))
    inner = _inner(copy, at)
    for other in _names(at[-1]) - {at[-1]}:
        if isinstance(inner, dict):
            inner.pop(other, None)
    return copy


def _is_implicit(document: Mapping[str, Any], at: tuple[str, ...]) -> bool:
    """Whether Pinot 1.x replaces whatever a field has: a TIMESTAMP column has only one format."""
    return at[-1] == "format" and value_at(document, (*at[:-1], "dataType")) == "TIMESTAMP"


def _key(at: tuple[str, ...]) -> str:
    return next((key for key in reversed(at) if not key.isdecimal() and key not in COLUMNS), at[-1])


def _choices(classes: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for fields in classes.values():
        for key, each in fields.items():
            kind = each["of"] if each["kind"] in ("list", "map") else each
            if kind["kind"] == "choice":
                found[key] = kind["choices"]
    return found
