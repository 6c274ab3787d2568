"""What is deleted since a folder no longer has it."""

from __future__ import annotations

from pathlib import Path

from controller_client.as_code.files import Folder, FolderSettings
from controller_client.as_code.inventory import InventoryEntry
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.pruning import prune_steps
from controller_client.config import ControllerConfig
from controller_client.rest.client import RestClient
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

SCHEMA = ObjectRef(Kind.SCHEMA, "prices")
APPLIED, OTHER = ObjectRef(Kind.TABLE, "prices_OFFLINE"), ObjectRef(Kind.TABLE, "prices_REALTIME")
LIVE = {
    SCHEMA: {"schemaName": "prices"},
    APPLIED: {"tableName": "prices_OFFLINE", "tableType": "OFFLINE"},
    OTHER: {"tableName": "prices_REALTIME", "tableType": "REALTIME"},
}


def refusals(*live: ObjectRef) -> dict[str, str | None]:
    """Return the deletions of a folder that has nothing any more, in their order, with their refusals."""
    owned = {ref: InventoryEntry(applied=LIVE[ref]) for ref in (SCHEMA, APPLIED)}
    folder = Folder(Path("/folder"), FolderSettings(), {})
    with ScriptedServer() as server, RestClient(ControllerConfig(server.url)) as client:
        server.answers = lambda _: answer(200, {"OFFLINE": {}})
        steps = prune_steps(client, owned, folder, {ref: LIVE[ref] for ref in live})
    return {step.object: step.refusal for step in steps}


def test_a_schema_is_deleted_after_its_table() -> None:
    deletions = refusals(SCHEMA, APPLIED)
    assert list(deletions.items()) == [("tables/prices_OFFLINE", None), ("schemas/prices", None)]


def test_a_schema_that_another_table_uses_is_kept() -> None:
    assert refusals(SCHEMA, APPLIED, OTHER)["schemas/prices"] == "it is used by prices_REALTIME"


def test_what_is_gone_already_is_not_deleted() -> None:
    assert refusals(SCHEMA) == {"schemas/prices": None}
