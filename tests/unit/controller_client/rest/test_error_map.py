"""Each row of the table, with the response it was captured from (Pinot 0.11.0, or ``seen_on``)."""

from __future__ import annotations

import pytest

from controller_client.errors import (
    AppliedError,
    AuthError,
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    RejectedError,
    UnsupportedError,
)
from controller_client.rest.error_map import OVERRIDES, classify

NULL_CONTEXT = (
    'Cannot invoke "org.apache.helix.task.WorkflowContext.getWorkflowState()" because the return value of '
    '"org.apache.helix.task.TaskDriver.getWorkflowContext(String)" is null'
)
CAPTURED: list[tuple[str, str, int, str, type[PinotPluginError]]] = [
    (
        "GET",
        "/tasks/task/Task_FileIngestionTask_x/state",
        500,
        "Task: Task_FileIngestionTask_x does not exist",
        NotFoundError,
    ),
    (
        "POST",
        "/segments/probe/startReplaceSegments",
        500,
        (
            "Not all segments from 'segmentsFrom' are available in the table. (tableName = 'probe_OFFLINE', "
            "segmentsFrom = '[a]', segmentsTo = '[b]', segmentsFromTable = '[]')"
        ),
        ConflictError,
    ),
    (
        "POST",
        "/segments/probe/startReplaceSegments",
        500,
        (
            "Any segments from 'segmentsTo' should not be available in the table at this point. (tableName = "
            "'probe_OFFLINE', segmentsFrom = '[]', segmentsTo = '[b]', segmentsFromTable = '[b]')"
        ),
        ConflictError,
    ),
    (
        "POST",
        "/segments/probe/startReplaceSegments",
        500,
        (
            "Failed to update the segment lineage during startReplaceSegments. (tableName = probe_OFFLINE, "
            "segmentsFrom = [a], segmentsTo = [b])"
        ),
        OutcomeUnknownError,
    ),
    (
        "POST",
        "/segments/probe/endReplaceSegments",
        500,
        (
            "Failed to update the segment lineage during endReplaceSegments. (tableName = probe_OFFLINE, "
            "segmentLineageEntryId = x)"
        ),
        OutcomeUnknownError,
    ),
    (
        "POST",
        "/segments/probe/revertReplaceSegments",
        500,
        (
            "Failed to update the segment lineage during revertReplaceSegments. (tableName = probe_OFFLINE, "
            "segmentLineageEntryId = x)"
        ),
        OutcomeUnknownError,
    ),
    (
        "POST",
        "/tables/t_REALTIME/pauseConsumption",
        500,
        "Caught exception while updating ideal state for resource: t_REALTIME",
        OutcomeUnknownError,
    ),
    *(
        (
            "POST",
            f"/tables/t_REALTIME/{call}",
            500,
            (
                "Force commit disabled for table: t_REALTIME. Table is configured as partial upsert or "
                "dropOutOfOrderRecord=true with replication > 1, which can cause data inconsistency during "
                "force commit. Current cluster config "
                "'pinot.server.consuming.segment.consistency.mode' is set to: "
                "RESTRICTED. To enable safer force commit, set cluster config "
                "'pinot.server.consuming.segment.consistency.mode' to 'PROTECTED'."
            ),
            RejectedError,
        )
        for call in ("pauseConsumption", "pauseTopicConsumption", "forceCommit")
    ),
    (
        "POST",
        "/tables/t_REALTIME/resumeConsumption",
        500,
        "Caught exception while updating ideal state for resource: t_REALTIME",
        OutcomeUnknownError,
    ),
    (
        "POST",
        "/tables/t_REALTIME/pauseConsumption",
        500,
        "No force commit message was sent for table: t_REALTIME segments: [t__0__0__20261121T2032Z]",
        OutcomeUnknownError,
    ),
    ("POST", "/v2/segments", 400, "Failed to find table: nope_OFFLINE", NotFoundError),
    ("POST", "/segments", 400, "Failed to find table: nope_OFFLINE", NotFoundError),
    (
        "POST",
        "/v2/segments",
        403,
        (
            "Invalid segment start/end time: [1970-01-01, 1970-01-01] (in millis: 1/10) for segment: s of "
            "table: t_OFFLINE, must be between: 1971-01-01/2071-01-01"
        ),
        RejectedError,
    ),
    (
        "POST",
        "/v2/segments",
        403,
        "Failed to find time interval in segment: s for table: t_OFFLINE with time column: ts",
        RejectedError,
    ),
    (
        "POST",
        "/v2/segments",
        403,
        "Storage quota check failed for segment: s of table: t_OFFLINE, reason: Table already over quota.",
        RejectedError,
    ),
    ("GET", "/tasks/task/nope/state", 500, "Index 1 out of bounds for length 1", NotFoundError),
    ("GET", "/tasks/task/nope/state", 500, "Invalid task name : nope. Missing separator _", NotFoundError),
    ("GET", "/tasks/subtask/nope/config", 500, "Index 1 out of bounds for length 1", NotFoundError),
    (
        "GET",
        "/tasks/task/Task_NoSuchTask_1700000000000/state",
        500,
        "Workflow context for task type doesn't exist: NoSuchTask",
        NotFoundError,
    ),
    (
        "GET",
        "/tasks/task/Task_NoSuchTask_1700000000000/config",
        500,
        (
            'Cannot invoke "org.apache.helix.task.JobConfig.getTaskConfigMap()" because the return value of '
            '"org.apache.helix.task.TaskDriver.getJobConfig(String)" is null'
        ),
        NotFoundError,
    ),
    ("GET", "/tasks/Nope/state", 500, NULL_CONTEXT, NotFoundError),
]

_JACKSON = (
    'Missing required creator property \'segmentsConfig\' (index 2)\n at [Source: (String)"{"tableName":"t1",'
    '"tableType":"OFFLINE"}"; line: 1, column: 40] (through reference chain: '
    'org.apache.pinot.spi.config.table.TableConfig["segmentsConfig"])'
)
_TIME = (
    "Cannot find valid fieldSpec for timeColumn: nope from the table config: t1_OFFLINE, in the schema: t1"
)
_COLUMN = "Column Name nope defined in Inverted Index Config must be a valid column defined in the schema"
_ANY_COLUMN = "Invalid table config: t1_OFFLINE with error: Failed to find column: nope in schema"
_REPLICATION = (
    "Invalid table config for table t1_OFFLINE: java.lang.IllegalStateException: Invalid replication number"
)
_NO_TIME = "'timeColumnName' cannot be null in REALTIME table config"
_EXISTS = (
    "Table config for t1_OFFLINE already exists. If this is unexpected, try deleting the table to remove all "
    "metadata associated with it."
)
_SCHEMA = (
    'Invalid schema config json string: {"schemaName":"t2","dimensionFieldSpecs":[{"name":"id",'
    '"dataType":"NOPE"}]}'
)
_BACKWARD = "Backward incompatible schema t1. Only allow adding new columns"
_NO_IDEAL_STATE = (
    "Failed to get consuming segments info for table x_REALTIME. "
    "Ideal state does not exist for table: x_REALTIME"
)
IN_PLAIN_WORDS: list[tuple[str, str, int, str, type[PinotPluginError], str]] = [
    ("POST", "/tables", 400, _JACKSON, RejectedError, "the table config lacks the part segmentsConfig"),
    (
        "PUT",
        "/tables/t1_OFFLINE",
        400,
        _JACKSON,
        RejectedError,
        "the table config lacks the part segmentsConfig",
    ),
    (
        "POST",
        "/tables",
        400,
        _TIME,
        RejectedError,
        "the time column nope of t1_OFFLINE is not a date-time column of the schema t1",
    ),
    (
        "POST",
        "/tables",
        400,
        _COLUMN,
        RejectedError,
        "the Inverted Index Config names the column nope, which is not in the table's schema",
    ),
    (
        "PUT",
        "/tables/t1_OFFLINE",
        400,
        _ANY_COLUMN,
        RejectedError,
        "the table config names the column nope, which is not in the table's schema",
    ),
    (
        "POST",
        "/tables",
        400,
        _REPLICATION,
        RejectedError,
        "Pinot rejects the config of t1_OFFLINE: Invalid replication number",
    ),
    ("POST", "/tables", 400, _NO_TIME, RejectedError, "the config of a realtime table names no time column"),
    ("POST", "/tables", 409, _EXISTS, ConflictError, "the table t1_OFFLINE already exists"),
    ("POST", "/schemas", 400, _SCHEMA, RejectedError, "Pinot cannot read the schema, and gives no reason"),
    ("PUT", "/schemas/t2", 400, _SCHEMA, RejectedError, "Pinot cannot read the schema, and gives no reason"),
    (
        "PUT",
        "/schemas/t1",
        400,
        _BACKWARD,
        RejectedError,
        "the new version of the schema t1 removes or changes a column",
    ),
    (
        "GET",
        "/tables/a%20b_OFFLINE/idealstate",
        404,
        "Table not found",
        NotFoundError,
        "there is no table a b_OFFLINE",
    ),
    (
        "GET",
        "/segments/x_OFFLINE",
        404,
        "Table 'x_OFFLINE_OFFLINE' not found.",
        NotFoundError,
        "there is no table x_OFFLINE",
    ),
    (
        "GET",
        "/tables/x",
        404,
        "Table x_OFFLINE does not exist",
        NotFoundError,
        "there is no table x",
    ),
    (
        "GET",
        "/tables/x_REALTIME/pauseStatus",
        404,
        "Table x_REALTIME not found!",
        NotFoundError,
        "there is no table x_REALTIME",
    ),
    (
        "GET",
        "/tables/x_REALTIME/consumingSegmentsInfo",
        500,
        _NO_IDEAL_STATE,
        NotFoundError,
        "there is no table x_REALTIME",
    ),
    ("GET", "/schemas/x", 404, "Schema not found", NotFoundError, "there is no schema x"),
    (
        "GET",
        "/tasks/FileIngestionTask/state",
        500,
        NULL_CONTEXT,
        NotFoundError,
        "the task type FileIngestionTask has no queue",
    ),
    (
        "GET",
        "/tasks/FileIngestionTask/taskstates",
        500,
        "Task queue: TaskQueue_FileIngestionTask for task type: FileIngestionTask does not exist",
        NotFoundError,
        "the task type FileIngestionTask has no queue",
    ),
    (
        "POST",
        "/instances/Server_dead_1/state",
        500,
        "Failed to enable instance Server_dead_1 - Instance: Server_dead_1 enable failed, timeout",
        AppliedError,
        "the enable of Server_dead_1 was applied, but it is not live, or its segments have not followed yet",
    ),
    *(
        (
            method,
            path,
            500,
            (
                "Failed to get running queries on the broker due to error: Query cancellation is not enabled "
                "on broker"
            ),
            UnsupportedError,
            "the broker does not track its running queries, so it can neither list nor cancel them",
        )
        for method, path in (("GET", "/queries"), ("DELETE", "/query/1"))
    ),
]


@pytest.mark.parametrize(("method", "path", "status", "text", "expected", "message"), IN_PLAIN_WORDS)
def test_messages_as_text(
    method: str, path: str, status: int, text: str, expected: type[PinotPluginError], message: str
) -> None:
    verdict = classify(method, path, status, text, read_only=method == "GET")
    assert (verdict.error, verdict.message) == (expected, message)
    assert verdict.remedy


@pytest.mark.parametrize(("method", "path", "status", "text", "expected"), CAPTURED)
def test_captured_responses(
    method: str, path: str, status: int, text: str, expected: type[PinotPluginError]
) -> None:
    assert classify(method, path, status, text, read_only=method == "GET")[0] is expected


def test_each_row_has_a_captured_response() -> None:
    answers = [each[:4] for each in CAPTURED] + [each[:4] for each in IN_PLAIN_WORDS]
    for row in OVERRIDES:
        assert any(row.verdict(*answer) for answer in answers), row


@pytest.mark.parametrize(
    ("method", "path", "status", "text", "expected"),
    [
        # The same text elsewhere has another meaning.
        ("POST", "/tables", 400, "Failed to find table: t", RejectedError),
        ("POST", "/v2/segments", 403, "Permission is denied for access type 'CREATE'", AuthError),
        ("POST", "/segments/t/startReplaceSegments", 400, "Illegal table type 'BAD'", RejectedError),
        ("POST", "/segments/t/startReplaceSegments", 404, "Table 't_OFFLINE' not found.", NotFoundError),
        ("GET", "/tasks/task/nope/state", 500, "disk full", RejectedError),
    ],
)
def test_without_a_matching_row_the_status_decides(
    method: str, path: str, status: int, text: str, expected: type[PinotPluginError]
) -> None:
    assert classify(method, path, status, text, read_only=method == "GET")[0] is expected


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_leaves_a_change_unknown_but_not_a_read(status: int) -> None:
    assert classify("POST", "/x", status, "", read_only=False)[0] is OutcomeUnknownError
    assert classify("GET", "/x", status, "", read_only=True)[0] is NotAppliedError
