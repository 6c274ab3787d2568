"""Columns that a version has no type for are refused before the controller is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller_client.client import ControllerClient
from controller_client.errors import UnsupportedError
from controller_client.models import Schema
from controller_client.rest.capabilities import Capabilities, PinotVersion
from controller_client.rest.column_types import check_columns
from tests.unit.controller_client.rest.conftest import V11, V15, Make
from tests.unit.controller_client.scripted_server import answer

DIMENSION = {"dimensionFieldSpecs": [{"name": "price", "dataType": "BIG_DECIMAL"}]}
DATE_TIME = {"dateTimeFieldSpecs": [{"name": "price", "dataType": "BIG_DECIMAL", "format": "EPOCH"}]}
METRIC = {"metricFieldSpecs": [{"name": "price", "dataType": "BIG_DECIMAL"}]}


def _several(data_type: str) -> dict[str, Any]:
    spec = {"name": "parts", "dataType": data_type, "singleValueField": False}
    return {"dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}, spec]}


def _of(version: str) -> Callable[[], Capabilities]:
    return lambda: Capabilities(PinotVersion.parse(version))


@pytest.mark.parametrize(
    ("schema", "version", "column"),
    [
        (DIMENSION, "0.11.0", "price"),
        (DATE_TIME, "0.11.0", "price"),
        *(
            (_several(each), version, "parts")
            for each in ("JSON", "BIG_DECIMAL")
            for version in ("0.11.0", "1.5.1")
        ),
    ],
)
def test_a_column_without_a_type_is_refused(schema: dict[str, Any], version: str, column: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"the column {column} is") as caught:
        check_columns(schema, _of(version))
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("schema", "version"),
    [
        (DIMENSION, "0.12.0"),
        (DIMENSION, "1.5.1"),
        (METRIC, "0.11.0"),
        *((_several(each), "0.11.0") for each in ("INT", "STRING", "BYTES", "TIMESTAMP")),
        ({"dimensionFieldSpecs": [{"name": "a", "dataType": "JSON"}, "odd", None]}, "0.11.0"),
        ({"dimensionFieldSpecs": {"name": "a"}}, "0.11.0"),
        ({}, "0.11.0"),
    ],
)
def test_others_are_left_to_the_controller(schema: dict[str, Any], version: str) -> None:
    check_columns(schema, _of(version))


def _writes(client: ControllerClient, document: dict[str, Any]) -> list[Callable[[], object]]:
    schema = Schema.from_json(document)
    return [
        lambda: client.schemas.create(schema),
        lambda: client.schemas.update(schema),
        lambda: client.schemas.validate(schema),
        lambda: client.configs.create_schema(document),
        lambda: client.configs.update_schema("t", document),
        lambda: client.configs.read_schema(document),
    ]


def test_each_way_to_register_a_schema_refuses_it(make: Make) -> None:
    client, server = make(V11)
    for write in _writes(client, {"schemaName": "t", **DIMENSION}):
        with pytest.raises(UnsupportedError, match="must be a metric"):
            write()
    assert [seen.path for seen in server.requests] == ["/version"]


def test_each_way_to_register_a_schema_sends_what_the_version_has(make: Make) -> None:
    client, server = make(V15, *(answer(200, {}) for _ in range(6)))
    for write in _writes(client, {"schemaName": "t", **DIMENSION}):
        write()
    assert len(server.requests) == 7
