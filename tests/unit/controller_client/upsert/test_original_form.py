"""Files in the form of the original design: ``updateSemantic`` and ``primaryKey`` in schema and table."""

from __future__ import annotations

from typing import Any

import pytest

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.upsert.creating import plan_upsert_table
from controller_client.upsert.original_form import GivenSettings, read_original_form
from controller_client.upsert.settings import UpsertSettings
from tests.unit.controller_client.upsert.test_creating import documents, plan


def read(schema: dict[str, Any], table: dict[str, Any]) -> GivenSettings:
    return read_original_form(Schema.from_json(schema), TableConfig.from_json(table))


def test_they_give_the_same_table() -> None:
    schema, table = documents()
    schema |= {"updateSemantic": "upsert", "primaryKey": "user"}
    schema["dimensionFieldSpecs"] += [
        {"name": name, "dataType": "LONG"} for name in ("$ValidFrom", "$validUntil", "$kafkaOffset")
    ]
    table["updateSemantic"] = "Upsert"
    table["segmentsConfig"] |= {"primaryKey": ["user"], "timeColumnName": "at"}
    given = read(schema, table)
    assert (given.key_or(None), given.key_or("user"), given.timestamp_or(None)) == (
        ("user",),
        ("user",),
        "at",
    )
    planned = plan_upsert_table(
        given.schema, given.table, primary_key=given.key_or(None), timestamp_column=given.timestamp_or(None)
    )
    usual = plan(lambda _schema, table: table["segmentsConfig"].update({"timeColumnName": "at"}))
    assert planned == usual
    # The result is accepted as input again.
    again = read(planned.schema.to_json(), planned.table.to_json())
    assert again.key_or(None) == UpsertSettings.of(planned.table).primary_key


@pytest.mark.parametrize(
    ("schema", "table", "key", "text"),
    [
        ({"updateSemantic": "append"}, {}, "user", "updateSemantic is append"),
        ({"primaryKey": "user"}, {"primaryKey": "tags"}, None, "different keys: tags and user"),
        ({"primaryKey": "user"}, {}, "tags", "the given key is tags, but the files name user"),
        ({}, {}, None, "has no key"),
    ],
)
def test_contradictions_are_refused(
    schema: dict[str, Any], table: dict[str, Any], key: str | None, text: str
) -> None:
    first, second = documents()
    with pytest.raises(ConfigError, match=text):
        read(first | schema, second | table).key_or(key)


def test_without_a_time_column_the_timestamp_is_required() -> None:
    given = read(*documents())
    assert given.timestamp_or("at") == "at"
    with pytest.raises(ConfigError, match="has no timestamp"):
        given.timestamp_or(None)
