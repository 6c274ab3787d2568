"""Calls for instances, tenants, users, brokers, tasks and copies: what they send and return."""

from __future__ import annotations

import itertools

import pytest

from controller_client.as_code.live import read_cluster
from controller_client.as_code.objects import Kind
from controller_client.common.names import TableName
from controller_client.common.waiting import growing_pauses
from controller_client.config import BasicAuth, Secret
from controller_client.errors import (
    AppliedError,
    ConfigError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
)
from controller_client.rest.table_copy import plan_copy
from controller_client.rest.tenants import TenantRole
from controller_client.rest.users import Component, Permission, User, UserRole
from tests.unit.controller_client.rest.conftest import CLUSTER, RECORD, V11, V15, Make
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer

OK = answer(200, {"status": "ok"})
SECRET = "s3cret-password"
HASH = "$2a$10$abcdefghijklmnopqrstuv"
USER = User("ada", Component.BROKER, UserRole.USER, tables=("t",), permissions=(Permission.READ,))
USERS = {"users": {"ada_BROKER": {**USER.to_json(Secret(HASH)), "authToken": "Basic abc"}}}


@pytest.mark.parametrize(
    ("version", "method", "target", "body"),
    [
        (V11, "POST", "/instances/Server_h_1/state", b"disable"),
        (V15, "PUT", "/instances/Server_h_1/state?state=disable", b""),
    ],
)
def test_the_state_of_an_instance(make: Make, version: Step, method: str, target: str, body: bytes) -> None:
    client, server = make(version, OK)
    client.instances.set_enabled("Server_h_1", False)
    sent = server.requests[-1]
    assert (sent.method, sent.target, sent.body) == (method, target, body)


def test_an_instance_that_is_dropped_after_it_was_listed_is_left_out(make: Make) -> None:
    listed = answer(200, {"instances": ["Server_a_1"]})
    gone = answer(404, {"code": 404, "error": "Instance Server_a_1 not found"})
    client, server = make(listed, gone)
    assert read_cluster(client, [Kind.INSTANCE, Kind.TENANT]) == {}
    assert [seen.target for seen in server.requests] == ["/instances", "/instances/Server_a_1"]


def test_a_change_is_applied_even_if_the_instance_does_not_follow(make: Make) -> None:
    text = "Failed to enable instance Server_h_1 - Instance: Server_h_1 enable failed, timeout"
    client, _ = make(V11, answer(500, {"code": 500, "error": text}))
    with pytest.raises(AppliedError, match="the enable of Server_h_1 was applied"):
        client.instances.set_enabled("Server_h_1", True)


@pytest.mark.parametrize(
    ("version", "method", "target"),
    [
        (V11, "GET", "/tables/t?type=offline&state=disable"),
        (V15, "PUT", "/tables/t/state?type=offline&state=disable"),
    ],
)
def test_the_state_of_a_table(make: Make, version: Step, method: str, target: str) -> None:
    client, server = make(version, answer(200, {"OFFLINE": {}}), OK)
    client.tables.set_enabled("t_OFFLINE", False)
    sent = [seen for seen in server.requests if "state=" in seen.target]
    assert [(seen.method, seen.target) for seen in sent] == [(method, target)]


def test_a_get_that_changes_a_table_is_not_repeated(make: Make) -> None:
    client, server = make(V11, answer(200, {"OFFLINE": {}}), answer(503, "gone"))
    with pytest.raises(OutcomeUnknownError):
        client.tables.set_enabled("t_OFFLINE", False)
    assert len(server.requests) == 3


def test_before_1_0_obstacles_to_a_drop_are_found_table_by_table(make: Make) -> None:
    def answers(request: Seen) -> Step:
        documents = {
            "/instances/Server_h_1": {
                "instanceName": "Server_h_1",
                "hostName": "h",
                "port": "1",
                "enabled": True,
            },
            "/version": {"pinot-controller": "0.11.0-1b4d"},
            "/cluster/info": {"clusterName": "c"},
            "/zk/ls": ["Server_h_1"],
            "/zk/get": {"mapFields": {"t_OFFLINE": {"Broker_h_2": "ONLINE"}}},
            "/tables/t_OFFLINE/idealstate": {
                "OFFLINE": {"a": {"Server_h_1": "ONLINE"}, "b": {"Server_h_3": "ONLINE"}}
            },
            "/tables/u_OFFLINE/idealstate": {"OFFLINE": {"a": {"Server_h_3": "ONLINE"}}},
            "/tables": {"tables": ["t", "u"] if "offline" in request.target else []},
        }
        return answer(200, documents[request.path])

    client, server = make()
    server.answers = answers
    check = client.instances.drop_check("Server_h_1")
    assert (check.live, check.segments, check.broker_of) == (True, {"t_OFFLINE": 1}, ())
    assert [text.split(" (")[0] for text in check.obstacles] == [
        "it is live",
        "it has 1 segment of t_OFFLINE",
    ]
    assert all(seen.method == "GET" for seen in server.requests)


def test_a_tenants_tags_are_added_to_those_of_other_tenants(make: Make) -> None:
    instance = {"instanceName": "Server_h_1", "hostName": "h", "port": 1, "enabled": True}
    client, server = make(answer(200, {**instance, "tags": ["server_untagged", "x_OFFLINE"]}), OK)
    tags = client.tenants.add("n", TenantRole.SERVER, ["Server_h_1"])
    assert tags == {"Server_h_1": ("x_OFFLINE", "n_OFFLINE", "n_REALTIME")}
    sent = server.requests[-1].target
    assert sent.startswith("/instances/Server_h_1/updateTags?tags=x_OFFLINE%2Cn_OFFLINE%2Cn_REALTIME")
    client, server = make()
    with pytest.raises(ConflictError, match="Broker_h_2 is not a server"):
        client.tenants.add("n", TenantRole.SERVER, ["Server_h_1", "Broker_h_2"])
    assert server.requests == []


def test_a_tenant_with_brokers_only(make: Make) -> None:
    missing = answer(404, {"code": 404, "error": "Failed to find any instances for server tenant: n"})
    client, _ = make(missing, answer(200, {"BrokerInstances": ["Broker_h_2"]}), missing, missing)
    found = client.tenants.get("n")
    assert (found.servers, found.broker) == ((), ("Broker_h_2",))
    with pytest.raises(NotFoundError, match="no tenant n"):
        client.tenants.get("n")


def test_users_are_returned_without_hashes(make: Make) -> None:
    client, _ = make(answer(200, USERS))
    (found,) = client.users.list()
    assert found == USER
    assert HASH not in repr(found)


def test_a_user_is_updated_with_the_present_hash_or_a_new_password(make: Make) -> None:
    client, server = make(answer(200, USERS), OK, answer(200, USERS), OK)
    client.users.update(USER)
    assert server.requests[1].target == "/users/ada?component=BROKER&passwordChanged=false"
    assert server.requests[1].json()["password"] == HASH
    client.users.update(USER, Secret(SECRET))
    assert server.requests[3].target == "/users/ada?component=BROKER&passwordChanged=true"
    assert server.requests[3].json()["password"] == SECRET


def test_a_response_that_repeats_a_password_is_masked(make: Make) -> None:
    client, _ = make(answer(200, {"users": {}}), answer(400, {"code": 400, "error": f"odd value {SECRET}!"}))
    with pytest.raises(RejectedError, match="odd value") as caught:
        client.users.create(USER, Secret(SECRET))
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_queries_are_listed_for_the_given_brokers(make: Make) -> None:
    client, _ = make()
    with ScriptedServer(answer(200, {"12": "select 1", "3": "select 2"}), answer(200, "Cancelled")) as broker:
        found = client.brokers.running_queries([broker.url])
        assert [(each.query_id, each.sql) for each in found] == [("3", "select 2"), ("12", "select 1")]
        client.brokers.cancel_query(broker.url, "12")
        assert (broker.requests[1].method, broker.requests[1].target) == ("DELETE", "/query/12?verbose=true")


def test_created_tasks_and_the_errors_next_to_them(make: Make) -> None:
    old = {"A": "Task_A_1", "B": None}
    new = {"A": "Task_A_1,Task_A_2", "generationErrors": "no table", "schedulingErrors": ""}
    client, _ = make(answer(200, old), answer(200, new))
    assert client.tasks.schedule().tasks == {"A": ("Task_A_1",), "B": ()}
    made = client.tasks.schedule("A")
    assert made.tasks == {"A": ("Task_A_1", "Task_A_2")}
    assert made.errors == ("no table",)


def test_a_copy_includes_the_secrets_of_the_config_but_not_those_of_the_first_cluster(make: Make) -> None:
    stream = {"stream.kafka.topic.name": "x", "sasl.password": SECRET}
    config = {
        "tableName": "t_REALTIME",
        "tableType": "REALTIME",
        "tableIndexConfig": {"streamConfigs": stream},
        "ingestionConfig": {"streams": ["http://me:word@host"]},
    }
    schema = {"schemaName": "t", "dimensionFieldSpecs": [{"name": "a", "dataType": "INT"}]}
    source, _ = make(
        answer(200, {"REALTIME": config}),
        CLUSTER,
        RECORD,
        answer(200, schema),
        auth=BasicAuth("me", Secret("first-cluster")),
    )
    target, other = make(answer(404, {"error": "no table"}), answer(404, {"error": "no schema"}), OK, OK, OK)
    plan = plan_copy(source, target, TableName("t_REALTIME"))
    assert plan.makes_schema
    assert plan.secret_settings == (
        "ingestionConfig.streams[0]",
        "tableIndexConfig.streamConfigs.sasl.password",
    )
    assert SECRET not in repr(plan)
    plan.run(target)
    made = [seen for seen in other.requests if seen.method == "POST"]
    assert [seen.path for seen in made] == ["/schemas/validate", "/schemas", "/tables"]
    assert made[-1].json() == config
    assert not any("Authorization" in seen.headers for seen in other.requests)


def test_a_copy_whose_segments_would_get_wrong_times_is_refused(make: Make) -> None:
    config = {
        "tableName": "t_REALTIME",
        "tableType": "REALTIME",
        "segmentsConfig": {"timeColumnName": "ts"},
    }
    field = {"name": "ts", "dataType": "LONG", "format": "5:MINUTES:EPOCH"}
    source, _ = make(
        answer(200, {"REALTIME": config}),
        CLUSTER,
        RECORD,
        answer(200, {"schemaName": "t", "dateTimeFieldSpecs": [field]}),
    )
    target, other = make()
    with pytest.raises(ConfigError, match="steps of 5 MINUTES"):
        plan_copy(source, target, TableName("t_REALTIME"))
    assert not other.requests


def test_a_refused_copy_deletes_its_schema(make: Make) -> None:
    config = {"tableName": "t_OFFLINE", "tableType": "OFFLINE"}
    schema = {"schemaName": "t"}
    source, _ = make(answer(200, {"OFFLINE": config}), CLUSTER, RECORD, answer(200, schema))
    missing = answer(404, {"error": "nothing"})
    target, other = make(missing, missing, OK, OK, answer(400, {"error": "no such tenant"}), OK)
    plan = plan_copy(source, target, TableName("t_OFFLINE"))
    with pytest.raises(RejectedError, match="no such tenant"):
        plan.run(target)
    assert (other.requests[-1].method, other.requests[-1].path) == ("DELETE", "/schemas/t")


def test_reload_jobs_are_parsed_from_pinots_messages(make: Make) -> None:
    table = 'Segment reload details: {"t_OFFLINE":{"numMessagesSent":"2","reloadJobId":"j1"}}'
    segment = "Submitted reload job id: j2, sent 2 reload messages. Job meta ZK storage status: SUCCESS"
    client, server = make(answer(200, {"status": table}), answer(200, {"status": segment}), OK)
    assert client.segments.reload("t_OFFLINE") == "j1"
    assert client.segments.reload_segment("t_OFFLINE", "a", download=True) == "j2"
    assert server.requests[1].target == "/segments/t_OFFLINE/a/reload?forceDownload=true"
    with pytest.raises(AppliedError, match="contains no job id"):
        client.segments.reload_segment("t_OFFLINE", "a")


def test_a_reload_that_is_never_fully_counted_is_requested_again(make: Make) -> None:
    views = answer(200, {"OFFLINE": {"a": {"s1": "ONLINE"}, "b": {"s1": "ONLINE"}}})
    counts = {"totalSegmentCount": 2, "totalServerCallsFailed": 0, "metadata": {"tableName": "t_OFFLINE"}}
    one, both = (answer(200, {**counts, "successCount": count}) for count in (1, 2))
    asked = answer(200, {"status": '{"t_OFFLINE": {"reloadJobId": "second"}}'})
    passed_s = itertools.accumulate(growing_pauses(0.1, 2.0))
    polls = len(list(itertools.takewhile(lambda now_s: now_s < 30, passed_s)))
    script = [step for _ in range(polls + 1) for step in (views, one)]
    client, server = make(views, V11, one, *script, asked, views, both)
    assert client.segments.wait_reloaded("t_OFFLINE", "first", 300).reloaded == 2
    targets = [request.target for request in server.requests]
    assert targets[-3].startswith("/segments/t_OFFLINE/reload")
    assert [target for target in targets if target.startswith("/segments/t_OFFLINE/reload")] == [targets[-3]]
    assert targets[-1] == "/segments/segmentReloadStatus/second"


def test_the_wait_for_a_segment_counts_its_own_replicas(make: Make) -> None:
    ideal = {"a": {"s1": "ONLINE", "s2": "ONLINE"}, "b": {"s1": "ONLINE"}, "c": {"s1": "CONSUMING"}}
    job = {"tableName": "t_REALTIME", "segmentName": "a", "submissionTimeMs": "1700000000000"}
    counts = {"totalSegmentCount": 2, "totalServerCallsFailed": 0, "metadata": job}
    views = answer(200, {"REALTIME": ideal})
    client, _ = make(
        views,
        V15,
        answer(200, {**counts, "successCount": 1}),
        views,
        answer(200, {**counts, "successCount": 2}),
    )
    seen: list[tuple[int, int]] = []
    done = client.segments.wait_reloaded(
        "t_REALTIME", "j", 10, seen=lambda loaded, wanted: seen.append((loaded, wanted))
    )
    assert seen == [(1, 2), (2, 2)]
    assert (done.segment, done.submitted_ms) == ("a", 1700000000000)
