"""Schemas and tables on a real controller, from creation to deletion."""

from __future__ import annotations

import pytest

from controller_client.client import ControllerClient
from controller_client.errors import ConflictError, NotFoundError, RejectedError
from controller_client.models import FieldRole, Schema, TableConfig
from tests.integration.controller_client.conftest import schema_document, table_document

pytestmark = pytest.mark.cluster


def test_a_schema_from_creation_to_end(client: ControllerClient, unique_table: str) -> None:
    schema = Schema.from_json(schema_document(unique_table))
    client.schemas.create(schema)
    assert unique_table in client.schemas.list()
    read = client.schemas.get(unique_table)
    assert {field.name: field.role for field in read.fields} == {
        "city": FieldRole.DIMENSION,
        "tags": FieldRole.DIMENSION,
        "n": FieldRole.METRIC,
        "x": FieldRole.METRIC,
        "price": FieldRole.METRIC,
        "ts": FieldRole.DATE_TIME,
    }
    tags = read.field("tags")
    assert tags is not None
    assert not tags.single_value

    with pytest.raises(ConflictError, match=unique_table):
        client.schemas.create(schema)
    client.schemas.create(schema, override=True)

    document = read.to_json()
    document["dimensionFieldSpecs"].append({"name": "added", "dataType": "INT"})
    client.schemas.update(Schema.from_json(document))
    assert client.schemas.get(unique_table).field("added") is not None
    document["dimensionFieldSpecs"] = document["dimensionFieldSpecs"][1:]
    with pytest.raises(RejectedError):
        client.schemas.update(Schema.from_json(document))

    client.schemas.delete(unique_table)
    with pytest.raises(NotFoundError):
        client.schemas.get(unique_table)
    with pytest.raises(NotFoundError):
        client.schemas.delete(unique_table)


def test_a_table_from_creation_to_end(client: ControllerClient, unique_table: str) -> None:
    twt = f"{unique_table}_OFFLINE"
    config = TableConfig.from_json(table_document(unique_table))
    assert not client.tables.exists(unique_table)
    with pytest.raises(NotFoundError):
        client.tables.get(twt)

    client.schemas.create(Schema.from_json(schema_document(unique_table)))
    with pytest.raises(NotFoundError):
        client.tables.update(config)
    client.tables.create(config)
    assert client.tables.exists(unique_table)
    assert client.tables.exists(twt)
    assert not client.tables.exists(f"{unique_table}_REALTIME")
    assert unique_table in client.tables.list()
    assert twt in client.tables.list("OFFLINE")
    assert f"{unique_table}_REALTIME" not in client.tables.list("REALTIME")
    read = client.tables.get(twt)
    assert (read.name_with_type, read.time_column, read.schema_names) == (twt, "ts", (unique_table,))
    assert client.tables.ideal_state(twt) == {}
    assert client.tables.external_view(twt) == {}
    assert client.tables.size(twt).segments == ()

    with pytest.raises(ConflictError):
        client.tables.create(config)
    client.tables.delete(twt)
    assert not client.tables.exists(twt)
    with pytest.raises(NotFoundError):
        client.tables.delete(twt)


def test_a_wrong_schema_and_a_wrong_table_are_rejected_with_pinots_words(
    client: ControllerClient, unique_table: str
) -> None:
    twice = [{"name": "c", "dataType": "STRING"}, {"name": "c", "dataType": "INT"}]
    with pytest.raises(RejectedError, match="c"):
        client.schemas.create(Schema.from_json({"schemaName": unique_table, "dimensionFieldSpecs": twice}))
    assert unique_table not in client.schemas.list()
    client.schemas.create(Schema.from_json(schema_document(unique_table)))
    document = table_document(unique_table)
    document["tableIndexConfig"]["invertedIndexColumns"] = ["no_such_column"]
    with pytest.raises(RejectedError, match="no_such_column"):
        client.tables.create(TableConfig.from_json(document))
    assert not client.tables.exists(unique_table)


def test_a_task_config_is_set_and_removed_and_everything_else_stays(
    client: ControllerClient, table: str
) -> None:
    before = client.tables.get(table).to_json()
    # A type for which the controller has no generator.
    configs = {"everyMinutes": "60", "inputDirURI": "s3://b/"}
    client.tables.set_task_config(table, "NoSuchTask", configs)
    assert client.tables.task_config(table, "NoSuchTask") == configs
    assert client.tables.task_config(table, "OtherTask") is None
    client.tables.set_task_config(table, "OtherTask", {})
    client.tables.set_task_config(table, "NoSuchTask", None)
    assert client.tables.task_config(table, "NoSuchTask") is None
    after = client.tables.get(table).to_json()
    assert after.pop("task") == {"taskTypeConfigsMap": {"OtherTask": {}}}
    before.pop("task", None)
    assert after == before


def test_an_unknown_table_is_not_found_everywhere(client: ControllerClient, unique_table: str) -> None:
    twt = f"{unique_table}_OFFLINE"
    for look in (
        client.tables.ideal_state,
        client.tables.external_view,
        client.tables.size,
        client.segments.list,
        client.lineage.list,
    ):
        with pytest.raises(NotFoundError):
            look(twt)
