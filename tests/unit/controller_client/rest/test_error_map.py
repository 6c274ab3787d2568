"""Each row of the table, with the response it was captured from (Pinot 0.11.0, or ``seen_on``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from controller_client import errors
from controller_client.errors import (
    AuthError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    RejectedError,
)
from controller_client.rest.error_map import OVERRIDES, classify
from controller_client.rest.error_row import MappedError

# A request with the status of its response and the error for it, the texts of such responses and, after "=",
# the message in plain words where it is not Pinot's text. Continued lines are indented further.
CAPTURED = r"""
GET /tasks/task/Task_FileIngestionTask_x/state 500 NotFoundError
    Task: Task_FileIngestionTask_x does not exist
POST /segments/probe/startReplaceSegments 500 ConflictError
    Not all segments from 'segmentsFrom' are available in the table. (tableName = 'probe_OFFLINE',
      segmentsFrom = '[a]', segmentsTo = '[b]', segmentsFromTable = '[]')
    Any segments from 'segmentsTo' should not be available in the table at this point. (tableName =
      'probe_OFFLINE', segmentsFrom = '[]', segmentsTo = '[b]', segmentsFromTable = '[b]')
    Segment: a from 'segmentsFrom' does not exist in table: probe_OFFLINE
    Segment: b from 'segmentsTo' exists in table: probe_OFFLINE
POST /segments/probe/startReplaceSegments 500 OutcomeUnknownError
    Failed to update the segment lineage during startReplaceSegments. (tableName = probe_OFFLINE,
      segmentsFrom = [a], segmentsTo = [b])
POST /segments/probe/endReplaceSegments 500 OutcomeUnknownError
    Failed to update the segment lineage during endReplaceSegments. (tableName = probe_OFFLINE,
      segmentLineageEntryId = x)
POST /segments/probe/revertReplaceSegments 500 OutcomeUnknownError
    Failed to update the segment lineage during revertReplaceSegments. (tableName = probe_OFFLINE,
      segmentLineageEntryId = x)
POST /segments/t_OFFLINE/delete 500 UnsafeDeleteError
    Failed to delete segments from table: t_OFFLINE, error message: Cannot delete segments from table:
      t_OFFLINE because they participate in a live segment lineage entry. Use the lineage lifecycle
      (endReplaceSegments / revertReplaceSegments with forceRevert=true) to clean them up.
      Blocking segments: [a, b]
POST /tables/t_REALTIME/pauseConsumption 500 OutcomeUnknownError
    Caught exception while updating ideal state for resource: t_REALTIME
POST /tables/t_REALTIME/pauseConsumption 500 RejectedError
    Force commit disabled for table: t_REALTIME. Table is configured as partial upsert or
      dropOutOfOrderRecord=true with replication > 1, which can cause data inconsistency during force
      commit. Current cluster config 'pinot.server.consuming.segment.consistency.mode' is set to:
      RESTRICTED. To enable safer force commit, set cluster config
      'pinot.server.consuming.segment.consistency.mode' to 'PROTECTED'.
POST /tables/t_REALTIME/pauseTopicConsumption 500 RejectedError
    Force commit disabled for table: t_REALTIME. Table is configured as partial upsert
POST /tables/t_REALTIME/forceCommit 500 RejectedError
    Force commit disabled for table: t_REALTIME. Table is configured as partial upsert
POST /tables/t_REALTIME/resumeConsumption 500 OutcomeUnknownError
    Caught exception while updating ideal state for resource: t_REALTIME
POST /tables/t_REALTIME/pauseConsumption 500 OutcomeUnknownError
    No force commit message was sent for table: t_REALTIME segments: [t__0__0__20261121T2032Z]
POST /v2/segments 400 NotFoundError
    Failed to find table: nope_OFFLINE
POST /segments 400 NotFoundError
    Failed to find table: nope_OFFLINE
POST /segments/batchUpload 400 NotFoundError
    Failed to fetch table config for table: nope_OFFLINE
POST /v2/segments 500 ConflictError
    Failed to create ZK metadata for segment: s of table: t_OFFLINE
    Failed to update ZK metadata for segment: s, table: t_OFFLINE, expected version: 3
POST /v2/segments 403 RejectedError
    Invalid segment start/end time: [1970-01-01, 1970-01-01] (in millis: 1/10) for segment: s of table:
      t_OFFLINE, must be between: 1971-01-01/2071-01-01
    Failed to find time interval in segment: s for table: t_OFFLINE with time column: ts
    Storage quota check failed for segment: s of table: t_OFFLINE, reason: Table already over quota.
GET /tasks/task/nope/state 500 NotFoundError
    Index 1 out of bounds for length 1
    Invalid task name : nope. Missing separator _
GET /tasks/subtask/nope/config 500 NotFoundError
    Index 1 out of bounds for length 1
GET /tasks/task/Task_NoSuchTask_1700000000000/state 500 NotFoundError
    Workflow context for task type doesn't exist: NoSuchTask
GET /tasks/task/Task_NoSuchTask_1700000000000/config 500 NotFoundError
    Cannot invoke "org.apache.helix.task.JobConfig.getTaskConfigMap()" because the return value of
      "org.apache.helix.task.TaskDriver.getJobConfig(String)" is null
GET /tasks/Nope/state 500 NotFoundError
    Cannot invoke "org.apache.helix.task.WorkflowContext.getWorkflowState()" because the return value of
      "org.apache.helix.task.TaskDriver.getWorkflowContext(String)" is null
POST /tables 400 RejectedError
    Missing required creator property 'segmentsConfig' (index 2)\n at [Source:
      (String)"{"tableName":"t1","tableType":"OFFLINE"}"; line: 1, column: 40] (through reference chain:
      org.apache.pinot.spi.config.table.TableConfig["segmentsConfig"])
    = the table config lacks the part segmentsConfig
PUT /tables/t1_OFFLINE 400 RejectedError
    Missing required creator property 'segmentsConfig' (index 2)\n at [Source:
      (String)"{"tableName":"t1","tableType":"OFFLINE"}"; line: 1, column: 40] (through reference chain:
      org.apache.pinot.spi.config.table.TableConfig["segmentsConfig"])
    = the table config lacks the part segmentsConfig
POST /tables 400 RejectedError
    Cannot find valid fieldSpec for timeColumn: nope from the table config: t1_OFFLINE, in the schema: t1
    = the time column nope of t1_OFFLINE is not a date-time column of the schema t1
POST /tables 400 RejectedError
    Column Name nope defined in Inverted Index Config must be a valid column defined in the schema
    = the Inverted Index Config names the column nope, which is not in the table's schema
PUT /tables/t1_OFFLINE 400 RejectedError
    Invalid table config: t1_OFFLINE with error: Failed to find column: nope in schema
    = the table config names the column nope, which is not in the table's schema
POST /tables 400 RejectedError
    Invalid table config for table t1_OFFLINE: java.lang.IllegalStateException: Invalid replication number
    = Pinot rejects the config of t1_OFFLINE: Invalid replication number
POST /tables 400 RejectedError
    'timeColumnName' cannot be null in REALTIME table config
    = the config of a realtime table names no time column
POST /tables 409 ConflictError
    Table config for t1_OFFLINE already exists. If this is unexpected, try deleting the table to remove
      all metadata associated with it.
    = the table t1_OFFLINE already exists
POST /schemas 400 RejectedError
    Invalid schema config json string:
      {"schemaName":"t2","dimensionFieldSpecs":[{"name":"id","dataType":"NOPE"}]}
    = Pinot cannot read the schema, and gives no reason
PUT /schemas/t2 400 RejectedError
    Invalid schema config json string:
      {"schemaName":"t2","dimensionFieldSpecs":[{"name":"id","dataType":"NOPE"}]}
    = Pinot cannot read the schema, and gives no reason
PUT /schemas/t1 400 RejectedError
    Backward incompatible schema t1. Only allow adding new columns
    = the new version of the schema t1 removes or changes a column
GET /tables/a%20b_OFFLINE/idealstate 404 NotFoundError
    Table not found
    = there is no table a b_OFFLINE
GET /segments/x_OFFLINE 404 NotFoundError
    Table 'x_OFFLINE_OFFLINE' not found.
    = there is no table x_OFFLINE
GET /tables/x 404 NotFoundError
    Table x_OFFLINE does not exist
    = there is no table x
GET /tables/x_REALTIME/pauseStatus 404 NotFoundError
    Table x_REALTIME not found!
    = there is no table x_REALTIME
GET /tables/x_REALTIME/consumingSegmentsInfo 500 NotFoundError
    Failed to get consuming segments info for table x_REALTIME. Ideal state does not exist for table:
      x_REALTIME
    = there is no table x_REALTIME
GET /schemas/x 404 NotFoundError
    Schema not found
    = there is no schema x
GET /tasks/FileIngestionTask/state 500 NotFoundError
    Cannot invoke "org.apache.helix.task.WorkflowContext.getWorkflowState()" because the return value of
      "org.apache.helix.task.TaskDriver.getWorkflowContext(String)" is null
    = the task type FileIngestionTask has no queue
GET /tasks/FileIngestionTask/taskstates 500 NotFoundError
    Task queue: TaskQueue_FileIngestionTask for task type: FileIngestionTask does not exist
    = the task type FileIngestionTask has no queue
POST /instances/Server_dead_1/state 500 AppliedError
    Failed to enable instance Server_dead_1 - Instance: Server_dead_1 enable failed, timeout
    = the enable of Server_dead_1 was applied, but it is not live, or its segments have not followed yet
DELETE /instances/Server_dead_1 500 NotAppliedError
    Cannot invoke "org.apache.helix.model.IdealState.getPartitionSet()" because "idealState" is null
    = Server_dead_1 was not dropped: a table was dropped while Pinot looked for what it serves
DELETE /tenants/reports 500 NotAppliedError
    Cannot invoke "org.apache.helix.model.IdealState.getPartitionSet()" because "tableIdealState" is null
    = reports was not dropped: a table was dropped while Pinot looked for what it serves
GET /queries 500 UnsupportedError
    Failed to get running queries on the broker due to error: Query cancellation is not enabled on broker
    = the broker does not track its running queries, so it can neither list nor cancel them
DELETE /query/1 500 UnsupportedError
    Failed to get running queries on the broker due to error: Query cancellation is not enabled on broker
    = the broker does not track its running queries, so it can neither list nor cancel them
"""


@dataclass(frozen=True)
class Captured:
    method: str
    path: str
    status: int
    error: str
    text: str
    message: str | None = None

    def verdict(self) -> MappedError:
        return classify(self.method, self.path, self.status, self.text, read_only=self.method == "GET")


def _captured() -> list[Captured]:
    found: list[Captured] = []
    for line in re.sub(r"\n {6}", " ", CAPTURED.strip()).splitlines():
        text = line.strip().replace(r"\n", "\n")
        if not line.startswith(" "):
            method, path, status, error = line.split()
        elif text.startswith("= "):
            found[-1] = replace(found[-1], message=text.removeprefix("= "))
        else:
            found.append(Captured(method, path, int(status), error, text))
    return found


@pytest.mark.parametrize("captured", _captured(), ids=lambda each: f"{each.method} {each.path}")
def test_captured_responses(captured: Captured) -> None:
    verdict = captured.verdict()
    assert verdict.error is getattr(errors, captured.error)
    if captured.message is not None:
        assert verdict.message == captured.message
        assert verdict.remedy


def test_each_row_has_a_captured_response() -> None:
    answers = [(each.method, each.path, each.status, each.text) for each in _captured()]
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
        # A gateway's status leaves a change unknown, but not a read.
        *(("POST", "/x", status, "", OutcomeUnknownError) for status in (502, 503, 504)),
        *(("GET", "/x", status, "", NotAppliedError) for status in (502, 503, 504)),
    ],
)
def test_without_a_matching_row_the_status_decides(
    method: str, path: str, status: int, text: str, expected: type[PinotPluginError]
) -> None:
    assert classify(method, path, status, text, read_only=method == "GET")[0] is expected
