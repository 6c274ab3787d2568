"""What single resource groups send, and how they read Pinot's misleading responses."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.errors import ConfigError, ConflictError, NotFoundError, UnsupportedError
from controller_client.models import TableConfig
from tests.unit.controller_client.rest.conftest import CLUSTER, RECORD, V11, V15, Make
from tests.unit.controller_client.scripted_server import NOTHING, Step, answer

TABLE = {"OFFLINE": {"tableName": "t_OFFLINE", "tableType": "OFFLINE", "new": {"a": [1]}}}


def test_the_schema_of_a_table_has_its_name_or_the_one_in_its_config(make: Make) -> None:
    named = TableConfig.from_json(
        {"tableName": "t_OFFLINE", "tableType": "OFFLINE", "segmentsConfig": {"schemaName": "s"}}
    )
    missing = answer(404, {"error": "Schema not found"})
    client, server = make(missing, answer(200, {"schemaName": "s"}), answer(200, {"schemaName": "t"}))
    assert client.schemas.of_table(named).schema_name == "s"
    # If both exist, Pinot uses the one with the table's name.
    assert client.schemas.of_table(named).schema_name == "t"
    assert [seen.path for seen in server.requests] == ["/schemas/t", "/schemas/s", "/schemas/t"]
    client, _ = make(missing, missing)
    with pytest.raises(NotFoundError, match="the table t_OFFLINE has no schema: t or s does not exist"):
        client.schemas.of_table(named)


def test_an_empty_document_means_an_unknown_table(make: Make) -> None:
    client, _ = make(
        answer(200, {}), answer(200, {}), answer(200, TABLE), answer(200, TABLE), answer(200, TABLE)
    )
    with pytest.raises(NotFoundError, match="no table t_OFFLINE"):
        client.tables.get("t_OFFLINE")
    assert not client.tables.exists("t")
    assert client.tables.exists("t")
    assert client.tables.exists("t_OFFLINE")
    assert not client.tables.exists("t_REALTIME")


def test_a_new_table_has_an_ideal_state_before_its_external_view(make: Make) -> None:
    missing = answer(404, {"code": 404, "error": "Table not found"})
    client, _ = make(missing, answer(200, {"OFFLINE": {}, "REALTIME": None}), missing, missing)
    assert client.tables.external_view("t_OFFLINE") == {}
    with pytest.raises(NotFoundError):
        client.tables.external_view("t_OFFLINE")


def test_lists_with_a_type_have_the_type_in_every_version(make: Make) -> None:
    client, server = make(answer(200, {"tables": ["b_OFFLINE", "a"]}), V11)
    assert client.tables.list("offline") == ["a_OFFLINE", "b_OFFLINE"]
    assert [seen.target for seen in server.requests] == ["/tables?type=offline", "/version"]


def test_a_table_that_is_deleted_after_it_was_listed_is_left_out(make: Make) -> None:
    client, _ = make(
        answer(200, {"tables": ["gone_OFFLINE", "t_OFFLINE"]}),
        V11,
        answer(200, {"tables": []}),
        answer(404, {"error": "Table not found"}),
        answer(200, TABLE),
    )
    assert [(name, config.name_with_type) for name, config in client.tables.all_in_use()] == [
        ("t_OFFLINE", "t_OFFLINE")
    ]


def test_lists_cover_all_databases(make: Make) -> None:
    client, server = make(
        answer(200, {"tables": ["a"]}),
        V15,
        answer(200, ["sales", "default"]),
        answer(200, {"tables": ["sales.b"]}),
        answer(200, ["a"]),
        answer(200, ["default", "sales"]),
        answer(200, ["sales.b"]),
    )
    assert client.tables.list("realtime") == ["a_REALTIME", "sales.b_REALTIME"]
    assert client.schemas.list() == ["a", "sales.b"]
    asked = [(seen.target, seen.headers.get("Database")) for seen in server.requests]
    assert asked == [
        ("/tables?type=realtime", None),
        ("/version", None),
        ("/databases", None),
        ("/tables?type=realtime", "sales"),
        ("/schemas", None),
        ("/databases", None),
        ("/schemas", "sales"),
    ]


def test_without_permission_to_list_databases_the_default_one_is_listed(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    client, _ = make(
        answer(200, {"tables": ["a"]}), V15, answer(403, {"code": 403, "error": "Permission is denied"})
    )
    assert client.tables.list("realtime") == ["a_REALTIME"]
    assert "tables of databases other than the default one are not listed" in caplog.text


@pytest.mark.parametrize(
    ("version", "target"), [(V11, "/tables/t_OFFLINE"), (V15, "/tables/t_OFFLINE?validationTypesToSkip=TASK")]
)
def test_a_task_config_is_set_by_rewriting_the_table_config(make: Make, version: Step, target: str) -> None:
    task = {"taskTypeConfigsMap": {"T": {"schedule": "x"}}}
    after = {"OFFLINE": {**TABLE["OFFLINE"], "task": task}}
    client, server = make(
        answer(200, TABLE),
        CLUSTER,
        RECORD,
        version,
        answer(200, {"status": "ok"}),
        answer(200, after),
        RECORD,
    )
    client.tables.set_task_config("t_OFFLINE", "T", {"schedule": "x"})
    put = next(seen for seen in server.requests if seen.method == "PUT")
    assert put.target == target
    assert put.json() == after["OFFLINE"]


def test_a_task_config_written_by_someone_else_is_a_conflict(make: Make) -> None:
    client, _ = make(answer(200, TABLE), CLUSTER, RECORD, V11, answer(200, {}), answer(200, TABLE), RECORD)
    with pytest.raises(ConflictError, match="someone else"):
        client.tables.set_task_config("t_OFFLINE", "T", {"a": "b"})


@pytest.mark.parametrize(
    ("folder", "uri"),
    [
        ("/var/pinot/data", "file:///var/pinot/data"),
        ("s3://bucket/pinot/", "s3://bucket/pinot"),
        ("file:///x", "file:///x"),
        (None, None),
        ("  ", None),
    ],
)
def test_the_deep_store_as_a_uri(make: Make, folder: str | None, uri: str | None) -> None:
    config = {} if folder is None else {"controller.data.dir": folder}
    client, _ = make(answer(200, {"pinotConfig": config}))
    assert client.cluster.deep_store_uri() == uri


def test_the_controllers_configuration_is_returned_without_secrets(make: Make) -> None:
    document = {
        "pinotConfig": {
            "controller.port": 9000,
            "pinot.controller.storage.factory.s3.secretKey": "hidden",
            "pinot.controller.storage.factory.s3.accessKey": "hidden",
            "controller.admin.access.control.principals.admin.password": "hidden",
            "controller.zk.str": "zk:2181",
        },
        "jvmConfig": {"envVariables": {"AWS_SECRET_ACCESS_KEY": "hidden"}},
    }
    client, _ = make(answer(200, document), answer(200, document))
    config = client.cluster.app_config()
    assert "hidden" not in str(config)
    assert config["controller.port"] == "9000"
    assert client.cluster.zookeeper_address() == "zk:2181"


def test_brokers_are_listed_once(make: Make) -> None:
    broker = {"host": "h", "port": 8099, "instanceName": "Broker_h_8099"}
    client, server = make(answer(200, {"a": [broker], "b": [broker]}), answer(200, [broker]))
    assert client.cluster.broker_urls() == ["http://h:8099"]
    assert client.cluster.broker_urls("t", scheme="https") == ["https://h:8099"]
    assert [seen.target for seen in server.requests] == [
        "/v2/brokers/tenants?state=ONLINE",
        "/v2/brokers/tables/t?state=ONLINE",
    ]


def test_the_version_is_requested_once(make: Make) -> None:
    client, server = make(V11)
    client.cluster.version()
    with pytest.raises(UnsupportedError, match=r"Pinot 1\.1\.0 or later"):
        client.rebalance.cancel("t_OFFLINE")
    assert len(server.requests) == 1


def test_health_requests_plain_text(make: Make) -> None:
    client, server = make(answer(200, "OK"), answer(503, "no"))
    assert client.cluster.healthy()
    assert server.requests[0].headers["Accept"] == "text/plain"
    assert not client.cluster.healthy()


def test_a_metadata_push(make: Make, tmp_path: Path) -> None:
    tar = tmp_path / "s.metadata.tar.gz"
    tar.write_bytes(b"tar")
    client, server = make(V11, answer(200, {}), answer(200, {}))
    client.segments.push_metadata("t_OFFLINE", tar, "s3://b/s.tar.gz", copy_to_deep_store=True)
    client.segments.push_metadata("t_OFFLINE", tar, "s3://b/s.tar.gz", copy_to_deep_store=False)
    first, second = server.requests[1:]
    assert first.target == "/v2/segments?tableName=t&tableType=OFFLINE&allowRefresh=true"
    assert first.headers["UPLOAD_TYPE"] == "METADATA"
    assert first.headers["DOWNLOAD_URI"] == "s3://b/s.tar.gz"
    assert first.headers["COPY_SEGMENT_TO_DEEP_STORE"] == "true"
    assert "COPY_SEGMENT_TO_DEEP_STORE" not in second.headers


def test_a_push_by_address(make: Make) -> None:
    client, server = make(answer(200, {}))
    client.segments.upload_uri("t_OFFLINE", "s3://b/s.tar.gz", allow_refresh=False)
    seen = server.requests[0]
    assert seen.target == "/v2/segments?tableName=t&tableType=OFFLINE&allowRefresh=false"
    assert (seen.headers["UPLOAD_TYPE"], seen.headers["DOWNLOAD_URI"]) == ("URI", "s3://b/s.tar.gz")
    assert seen.headers["Content-Type"] == "application/json"
    with pytest.raises(ConfigError, match="file"):
        client.segments.upload_uri("t_OFFLINE", "file:///tmp/s.tar.gz")


def test_deleting_nothing_sends_nothing(make: Make) -> None:
    client, server = make()
    client.segments.delete("t_OFFLINE", [])
    assert server.requests == []


@pytest.mark.parametrize(
    ("version", "path", "there", "gone"),
    [
        (V11, "/segments/t_OFFLINE", [{"OFFLINE": ["s"]}], [{"OFFLINE": []}]),
        (V15, "/segments/t_OFFLINE/zkmetadata", {"s": {"segment.crc": "1"}}, {}),
    ],
)
def test_segments_are_gone_once_the_property_store_has_deleted_them(
    make: Make, version: Step, path: str, there: object, gone: object
) -> None:
    views = [answer(200, {"OFFLINE": {}}), answer(200, {"OFFLINE": {}})]
    client, server = make(*views, version, answer(200, there), *views, answer(200, gone))
    client.segments.wait_gone("t_OFFLINE", ["s"], 60)
    assert [seen.path for seen in server.requests if seen.path.startswith("/segments")] == [path, path]


def test_an_empty_response_means_no_task(make: Make) -> None:
    client, _ = make(NOTHING, NOTHING, answer(200, "[]"), answer(200, '"COMPLETED"'))
    with pytest.raises(NotFoundError, match="there is no task Task_x_1"):
        client.tasks.state("Task_x_1")
    with pytest.raises(NotFoundError, match="there is no queue for the task type x"):
        client.tasks.queue_state("x")
    assert client.tasks.state("Task_x_1") == "COMPLETED"


def test_a_queue_without_a_state_has_not_started(make: Make) -> None:
    silence = answer(500, 'Cannot invoke "x": the return value of "y.getWorkflowContext(String)" is null')
    client, _ = make(silence, answer(200, '["x"]'))
    assert client.tasks.queue_state("x") == "NOT_STARTED"


def test_an_empty_response_means_no_lineage(make: Make) -> None:
    client, _ = make(V11, NOTHING)
    assert client.lineage.list("t_OFFLINE") == []


TRACE = """org.apache.pinot.spi.utils.retry.AttemptsExceededException: Operation failed after 1 attempts
\tat org.apache.pinot.spi.utils.retry.BaseRetryPolicy.attempt(BaseRetryPolicy.java:65)
Caused by: java.io.IOException: in the middle
\t... 7 more
Caused by: java.io.EOFException: Unexpected end of ZLIB input stream
\t... 9 more
"""


def test_a_load_error_is_the_exception_and_its_last_cause(make: Make) -> None:
    def info(segment: str, **states: object) -> dict[str, object]:
        return {"segmentName": segment, "serverState": states}

    infos = [
        info("a", S1={"externalView": "ERROR", "errorInfo": {"errorMessage": "x", "stackTrace": TRACE}}),
        info("b", S1={"externalView": None, "errorInfo": None}, S2=None),
        info("c", S2={"errorInfo": {"errorMessage": "m" * 1000, "stackTrace": None}}),
    ]
    client, server = make(answer(200, [{"segmentDebugInfos": infos}]), answer(200, []))
    assert client.segments.load_errors("t_OFFLINE") == {
        ("a", "S1"): "org.apache.pinot.spi.utils.retry.AttemptsExceededException: Operation failed after 1"
        " attempts Caused by: java.io.EOFException: Unexpected end of ZLIB input stream",
        ("c", "S2"): "m" * 300,
    }
    assert client.segments.load_errors("t_OFFLINE") == {}
    assert server.requests[0].target == "/debug/tables/t?type=OFFLINE"
