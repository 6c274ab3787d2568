"""Responses of something other than Pinot, with status 200: an error of each call, never "nothing"."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from controller_client.client import ControllerClient
from controller_client.errors import NotAppliedError, OutcomeUnknownError, PinotPluginError
from controller_client.rest.tenants import TenantRole
from controller_client.rest.users import Component
from tests.unit.controller_client.rest.conftest import Make
from tests.unit.controller_client.scripted_server import Seen, Step, answer

BROKEN = {
    "empty": answer(200),
    "without content": answer(204),
    "a page": answer(200, "<html><body>Sign in</body></html>", {"Content-Type": "text/html"}),
    "truncated": answer(200, '{"tables": ["a", "b', {"Content-Type": "application/json"}),
    "null": answer(200, "null"),
    "a text": answer(200, '"ok"'),
    "a number": answer(200, "0"),
    "lost": answer(200, "", {"Content-Type": "application/json", "Pinot-Controller-Version": "1.5.1-abc"}),
}
Call = Callable[[ControllerClient], object]
NAME = "t_OFFLINE"
CALLS: dict[str, tuple[str, Call]] = {
    "tables": ("/tables", lambda c: c.tables.list()),
    "tables of a type": ("/tables", lambda c: c.tables.list("OFFLINE")),
    "tables of databases": ("/databases", lambda c: c.tables.list()),
    "whether a table exists": ("/tables/t", lambda c: c.tables.exists("t")),
    "a config": ("/tables/t", lambda c: c.tables.get(NAME)),
    "configs": ("/tables/t", lambda c: c.configs.tables("t")),
    "an ideal state": (f"/tables/{NAME}/idealstate", lambda c: c.tables.ideal_state(NAME)),
    "an external view": (f"/tables/{NAME}/externalview", lambda c: c.tables.external_view(NAME)),
    "a size": ("/tables/t/size", lambda c: c.tables.size(NAME)),
    "a state": ("/tables/t/state", lambda c: c.tables.enabled(NAME)),
    "a logical table": ("/logicalTables/t", lambda c: c.tables.physical_tables("t")),
    "schemas": ("/schemas", lambda c: c.schemas.list()),
    "a schema": ("/schemas/t", lambda c: c.configs.schema("t")),
    "segments": (f"/segments/{NAME}", lambda c: c.segments.list(NAME)),
    "recorded segments": (f"/segments/{NAME}/zkmetadata", lambda c: c.segments._recorded(NAME)),
    "load errors": ("/debug/tables/t", lambda c: c.segments.load_errors(NAME)),
    "a lineage": ("/segments/t/lineage", lambda c: c.lineage.list(NAME)),
    "live instances": ("/liveinstances", lambda c: c.instances.live()),
    "instances": ("/instances", lambda c: c.instances.list()),
    "an instance": ("/instances/i", lambda c: c.instances.find("i")),
    "tenants": ("/tenants", lambda c: c.tenants.list()),
    "a tenant": ("/tenants/x", lambda c: c.tenants.get("x")),
    "tables of a tenant": ("/tenants/x/tables", lambda c: c.tenants.tables("x")),
    "free servers": ("/instances", lambda c: c.tenants.free_instances(TenantRole.SERVER)),
    "task types": ("/tasks/tasktypes", lambda c: c.tasks.types()),
    "tasks": ("/tasks/x/taskstates", lambda c: c.tasks.states("x")),
    "counts of tasks": ("/tasks/x/taskcounts", lambda c: c.tasks.counts("x")),
    "subtasks": ("/tasks/subtask/Task_x_1/state", lambda c: c.tasks.subtask_states("Task_x_1")),
    "configs of subtasks": ("/tasks/subtask/Task_x_1/config", lambda c: c.tasks.subtask_configs("Task_x_1")),
    "a task": ("/tasks/task/Task_x_1/debug", lambda c: c.tasks.debug("Task_x_1")),
    "tasks of a type": ("/tasks/x/debug", lambda c: c.tasks.debug_type("x")),
    "users": ("/users", lambda c: c.users.list()),
    "a user": ("/users", lambda c: c.users.get("me", Component.BROKER)),
    "brokers": ("/v2/brokers/tenants", lambda c: c.cluster.broker_urls()),
    "brokers of a table": ("/v2/brokers/tables/t", lambda c: c.cluster.broker_urls("t")),
    "settings": ("/appconfigs", lambda c: c.cluster.app_config()),
    "consuming segments": ("/tables/t/consumingSegmentsInfo", lambda c: c.consumption.progress("t")),
    "a pause": ("/tables/t/pauseStatus", lambda c: c.consumption.pause_status("t")),
    "a rebalance": ("/rebalanceStatus/j", lambda c: c.rebalance.status("j")),
    "a reload": ("/segments/segmentReloadStatus/j", lambda c: c.segments.reload_status("j")),
    "a checked table": ("/tables/validate", lambda c: c.configs.read_table({"tableType": "OFFLINE"})),
}
FORMS = {
    "/tables": {"tables": []},
    "/databases": ["d"],
    "/schemas": [],
    "/liveinstances": {"instances": []},
    "/instances": {"instances": []},
}


def answering(path: str, broken: Step, version: str = "1.5.1-abc") -> Callable[[Seen], Step]:
    def respond(seen: Seen) -> Step:
        if seen.path == "/version":
            return answer(200, {"pinot-controller": version})
        return broken if seen.path == path else answer(200, FORMS.get(seen.path, {}))

    return respond


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_read_fails_and_names_the_address(make: Make, what: str, broken: str) -> None:
    path, call = CALLS[what]
    client, server = make()
    server.answers = answering(path, BROKEN[broken])
    with pytest.raises(NotAppliedError, match="the response is") as caught:
        call(client)
    assert str(caught.value.where).startswith(f"{server.url}{path}")
    assert "proxy" in str(caught.value)


LISTS = ["tables", "segments", "live instances", "instances", "tables of a tenant", "users", "tenants"]


@pytest.mark.parametrize("what", LISTS)
@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"tables": null}', '{"instances": {}}', '[{"REALTIME": []}]', "[1]"]
)
def test_a_list_without_its_part_is_none(make: Make, what: str, text: str) -> None:
    path, call = CALLS[what]
    client, server = make()
    server.answers = answering(path, answer(200, text))
    with pytest.raises(PinotPluginError, match="the response is"):
        call(client)


@pytest.mark.parametrize("broken", BROKEN)
def test_what_a_change_did_is_unknown(make: Make, broken: str) -> None:
    client, server = make()
    empty = {"/segments/t_OFFLINE": [{"OFFLINE": []}], "/segments/t/lineage": {"lineageEntries": {}}}
    respond = answering("/segments/t/startReplaceSegments", BROKEN[broken])
    server.answers = lambda seen: answer(200, empty[seen.path]) if seen.path in empty else respond(seen)
    with pytest.raises(OutcomeUnknownError, match="the response is"):
        client.lineage.start(NAME, [], ["new"])
    server.answers = answering("/tasks/schedule", BROKEN[broken])
    with pytest.raises(OutcomeUnknownError):
        client.tasks.schedule()


_STRANGE = [
    "{}", "[{}]", "[1]", '[{"a": 1}]', '{"a": 1}', '{"a": {}}', '{"a": []}', '{"a": {"b": 1}}', '{"a": "b"}',
    '{"enabled": {}, "instances": [1], "tables": {"a": 1}, "metadata": 1, "lineageEntries": {"a": 1}}',
]  # fmt: skip


@pytest.mark.parametrize("what", CALLS)
def test_json_of_something_else_is_no_other_error(make: Make, what: str) -> None:
    path, call = CALLS[what]
    client, server = make()
    for text in _STRANGE:
        server.answers = answering(path, answer(200, text, {"Content-Type": "application/json"}))
        with suppress(PinotPluginError):  # some have the form of an answer without what the call looks for
            call(client)
