"""A subtask's requests to the controller."""

from __future__ import annotations

from collections import Counter

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from minion_tasks.file_ingestion.engine.subtask_run import read_table
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.minion_tasks.samples import MINIMAL, TABLE


def test_each_document_of_a_table_is_read_once() -> None:
    table = {
        "tableName": TABLE,
        "tableType": "OFFLINE",
        "task": {"taskTypeConfigsMap": {TASK_TYPE: MINIMAL}},
    }

    def answers(seen: Seen) -> Step:
        return answer(200, {"schemaName": "t"} if seen.path == "/schemas/t" else {"OFFLINE": table})

    with ScriptedServer() as server:
        server.answers = answers
        with ControllerClient(ControllerConfig(server.url)) as client:
            params, config, schema = read_table(client, TABLE)
    assert (params.input_dir_uri, config.name_with_type, schema.schema_name) == ("file:///in", TABLE, "t")
    assert Counter(seen.path for seen in server.requests) == {"/tables/t": 1, "/schemas/t": 1}
