"""Maps Pinot's HTTP responses to errors: by status, with a table of Pinot's exceptions from the rule.

The mapping by status follows HTTP. The table contains Pinot's quirks, each captured from a running controller
of the version in the row; the first matching row decides. A new quirk needs a new row and a new line in its
test.
"""

from __future__ import annotations

from controller_client.errors import (
    AppliedError,
    AuthError,
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    UnsafeDeleteError,
    UnsupportedError,
)
from controller_client.rest.error_row import MappedError, Override, error_row

__all__ = ["OVERRIDES", "classify"]


_REPLACE = "/segments/[^/]+/"
_UPLOAD = "/(v2/)?segments(/batchUpload)?"
_TASK = "/tasks/(task|subtask)/[^/]+/(state|config|debug)"
_READ_LINEAGE = "read the table's lineage before doing anything else"
_ANY_TABLE = "/tables(/[^/]+)?|/tableConfigs/validate"
_OF_TABLE = "/(tables|segments)/(?P<table>[^/]+)(/.*)?"
_LIST_TABLES = "see 'pinotctl table list'"
_BY_COLUMN = "correct the config, or add the column to the schema first"


# Faults of a table's config, on creating or changing it.
_TABLE_CONFIGS = (
    error_row(
        "POST PUT",
        _ANY_TABLE,
        400,
        r"Missing required creator property '(?P<key>\w+)'",
        RejectedError,
        "compare it with a working table: 'pinotctl table show TABLE --output json' prints all parts",
        "the table config lacks the part {key}",
    ),
    error_row(
        "POST PUT",
        _ANY_TABLE,
        400,
        r"Cannot find valid fieldSpec for timeColumn: (?P<column>\S+) from the table config: "
        r"(?P<table>\S+), in the schema: (?P<schema>\S+)",
        RejectedError,
        _BY_COLUMN,
        "the time column {column} of {table} is not a date-time column of the schema {schema}",
    ),
    error_row(
        "POST PUT",
        _ANY_TABLE,
        400,
        r"Column Name (?P<column>\S+) defined in (?P<part>.+?) must be a valid column",
        RejectedError,
        _BY_COLUMN,
        "the {part} names the column {column}, which is not in the table's schema",
    ),
    error_row(
        "POST PUT",
        _ANY_TABLE,
        400,
        r"Failed to find column: (?P<column>\S+) in schema",
        RejectedError,
        _BY_COLUMN,
        "the table config names the column {column}, which is not in the table's schema",
        seen_on="1.5.1",
    ),
    error_row(
        "POST PUT",
        _ANY_TABLE,
        400,
        r"Invalid table config for table (?P<table>\S+): (\w+\.)*\w+: (?P<reason>.+)",
        RejectedError,
        "correct the config",
        "Pinot rejects the config of {table}: {reason}",
    ),
    error_row(
        "POST PUT",
        _ANY_TABLE,
        400,
        "'timeColumnName' cannot be null in REALTIME table config",
        RejectedError,
        "set segmentsConfig.timeColumnName to a date-time column of the schema",
        "the config of a realtime table names no time column",
    ),
)

OVERRIDES: tuple[Override, ...] = (
    # Checks before the lineage is written: nothing was applied.
    error_row(
        "POST",
        _REPLACE + "startReplaceSegments",
        500,
        "Not all segments from 'segmentsFrom' are available",
        ConflictError,
        "take segmentsFrom from the segment list that excludes replaced segments",
    ),
    error_row(
        "POST",
        _REPLACE + "startReplaceSegments",
        500,
        "Any segments from 'segmentsTo' should not be available",
        ConflictError,
        "choose new names for the new segments",
    ),
    error_row(
        "POST",
        _REPLACE + "startReplaceSegments",
        500,
        r"Segment: \S+ from 'segmentsFrom' does not exist in table",
        ConflictError,
        "take segmentsFrom from the segment list that excludes replaced segments",
        seen_on="1.5.1",
    ),
    error_row(
        "POST",
        _REPLACE + "startReplaceSegments",
        500,
        r"Segment: \S+ from 'segmentsTo' exists in table",
        ConflictError,
        "choose new names for the new segments",
        seen_on="1.5.1",
    ),
    # The same text for a refusal, a lost compare-and-set and a fault after the write: only the lineage shows
    # which it was.
    error_row(
        "POST",
        _REPLACE + "(start|end|revert)ReplaceSegments",
        500,
        "Failed to update the segment lineage",
        OutcomeUnknownError,
        _READ_LINEAGE,
    ),
    # Checked before anything is deleted.
    error_row(
        "POST DELETE",
        "/segments/.*",
        500,
        "because they participate in a live segment lineage entry",
        UnsafeDeleteError,
        "replaced segments are deleted by Pinot itself, segmentsConfig.replacedSegmentsRetentionPeriod after "
        "the replacement; an open replacement must be completed or reverted first: 'pinotctl lineage list'",
        seen_on="1.6.0",
    ),
    # Checked before anything is written or sent.
    error_row(
        "POST",
        "/tables/[^/]+/(pauseConsumption|pauseTopicConsumption|forceCommit)",
        500,
        r"Force commit disabled for table: (?P<table>\S+)\. ",
        RejectedError,
        "set the cluster config pinot.server.consuming.segment.consistency.mode to PROTECTED (or to UNSAFE, "
        "with which replicas may differ) by POST /cluster/configs",
        "Pinot refuses forced commits of {table}: with partial upsert, or upsert that drops or marks late "
        "rows, its replicas might differ afterwards",
        seen_on="1.5.1",
    ),
    # The same response for a flag that was not set (a lost compare-and-set, tried only once) and for one that
    # was set before the servers proved unreachable.
    error_row(
        "POST",
        "/tables/[^/]+/(pause|resume)Consumption",
        500,
        "",
        OutcomeUnknownError,
        "read the table's pause status before doing anything else",
    ),
    # The table is looked up after the tar was received; a missing one is reported as a bad request.
    error_row(
        "POST",
        _UPLOAD,
        400,
        "Failed to (find table|fetch table config for table)",
        NotFoundError,
        "create the table first",
    ),
    # The change is written first, then awaited.
    error_row(
        "POST PUT",
        "/instances/(?P<instance>[^/]+)/state",
        500,
        "(?P<change>enable|disable) failed, timeout",
        AppliedError,
        "check whether it is live ('pinotctl instance list --live'), and the states of its segments",
        "the {change} of {instance} was applied, but it is not live, or its segments have not followed yet",
    ),
    # Pinot first looks into the ideal state of each table, one of which was dropped between list and read.
    error_row(
        "DELETE",
        "/(?:instances|tenants)/(?P<name>[^/]+)",
        500,
        r"IdealState\.getPartitionSet\(\).* is null",
        NotAppliedError,
        "run the command again",
        "{name} was not dropped: a table was dropped while Pinot looked for what it serves",
    ),
    # Brokers.
    error_row(
        "GET DELETE",
        "/queries|/query/[^/]+",
        500,
        "Query cancellation is not enabled on broker",
        UnsupportedError,
        "set pinot.broker.enable.query.cancellation=true in the brokers' configuration, and "
        "pinot.query.scheduler.enable.query.cancellation=true in the servers' (since Pinot 0.12 "
        "pinot.server.enable.query.cancellation), and restart them",
        "the broker does not track its running queries, so it can neither list nor cancel them",
    ),
    # For an upload, 403 means a refused segment (time range, quota), not refused credentials. The first row
    # comes from the source of SegmentValidationUtils: Pinot's own builder never makes such a segment.
    error_row(
        "POST",
        _UPLOAD,
        403,
        "Invalid segment start/end time",
        RejectedError,
        "check the time column's values",
    ),
    error_row("POST", _UPLOAD, 403, "Failed to find time interval in segment", RejectedError),
    error_row(
        "POST",
        _UPLOAD,
        403,
        "Storage quota check failed",
        RejectedError,
        "raise the table's quota, or delete segments",
    ),
    # Two pushes of a segment at a time: that of a killed run may arrive during that of the next run.
    error_row(
        "POST",
        _UPLOAD,
        500,
        r"Failed to (create|update) ZK metadata for segment: (?P<segment>[^\s,]+)",
        ConflictError,
        "check whether the table has the segment, with the right CRC, before you push it again",
        "another push of segment {segment} was under way",
        seen_on="1.5.1",
    ),
    # A task type without tasks, and names of nonexistent tasks: internal exceptions of the controller.
    error_row(
        "GET", _TASK, 500, "Index 1 out of bounds for length 1", NotFoundError, "list the tasks of this type"
    ),
    error_row(
        "GET",
        _TASK,
        500,
        "Workflow context for task type doesn't exist",
        NotFoundError,
        "list the task types",
    ),
    error_row(
        "GET",
        _TASK,
        500,
        'because the return value of ".*" is null',
        NotFoundError,
        "list the tasks of this type",
    ),
    error_row(
        "GET",
        _TASK,
        500,
        "Invalid task name : .* Missing separator",
        NotFoundError,
        "list the tasks of this type",
        seen_on="1.5.1",
    ),
    error_row(
        "GET",
        "/tasks/(?P<type>[^/]+)/state",
        500,
        "getWorkflowContext.* is null",
        NotFoundError,
        "list the task types",
        "the task type {type} has no queue",
    ),
    error_row(
        "GET",
        "/tasks/(?P<type>[^/]+)/taskstates",
        500,
        "Task queue: .* does not exist",
        NotFoundError,
        "list the task types",
        "the task type {type} has no queue",
        seen_on="1.5.1",
    ),
    error_row(
        "GET",
        _TASK,
        500,
        "Task: .* does not exist",
        NotFoundError,
        "list the tasks of this type",
        seen_on="1.5.1",
    ),
    *_TABLE_CONFIGS,
    error_row(
        "POST",
        "/tables",
        409,
        r"Table config for (?P<table>\S+) already exists",
        ConflictError,
        "change it with 'pinotctl table update', or delete it first",
        "the table {table} already exists",
    ),
    # The response contains the whole document but does not say what is wrong with it.
    error_row(
        "POST PUT",
        "/schemas(/[^/]+)?",
        400,
        "Invalid schema config json string",
        RejectedError,
        "check the fields: name, dataType (INT, LONG, FLOAT, DOUBLE, BIG_DECIMAL, BOOLEAN, TIMESTAMP, STRING,"
        " JSON, BYTES), and format and granularity of date-times",
        "Pinot cannot read the schema, and gives no reason",
    ),
    error_row(
        "PUT",
        "/schemas/[^/]+",
        400,
        r"Backward incompatible schema (?P<schema>.+?)\. Only allow adding new columns",
        RejectedError,
        "keep all columns and their types unchanged; only new columns may be added",
        "the new version of the schema {schema} removes or changes a column",
    ),
    # These responses do not name the table.
    error_row(
        "GET", _OF_TABLE, 404, "^Table not found$", NotFoundError, _LIST_TABLES, "there is no table {table}"
    ),
    error_row(
        "GET",
        _OF_TABLE,
        404,
        "^Table '?[^ ']+'? not found[.!]?$",
        NotFoundError,
        _LIST_TABLES,
        "there is no table {table}",
    ),
    error_row(
        "GET",
        _OF_TABLE,
        404,
        r"^Table \S+ does not exist$",
        NotFoundError,
        _LIST_TABLES,
        "there is no table {table}",
        seen_on="1.5.1",
    ),
    error_row(
        "GET",
        "/tables/(?P<table>[^/]+)/consumingSegmentsInfo",
        500,
        "Ideal state does not exist for table",
        NotFoundError,
        _LIST_TABLES,
        "there is no table {table}",
    ),
    error_row(
        "GET",
        "/schemas/(?P<schema>[^/]+)",
        404,
        "Schema not found",
        NotFoundError,
        "see 'pinotctl schema list'",
        "there is no schema {schema}",
    ),
)


def classify(method: str, path: str, status: int, text: str, *, read_only: bool) -> MappedError:
    """Return the error that a response stands for.

    Args:
        method: HTTP method.
        path: Path of the address without the query.
        status: HTTP status, 300 or more.
        text: The response's text; may be empty.
        read_only: Whether the call can change anything.
    """
    verdicts = (row.verdict(method, path, status, text) for row in OVERRIDES)
    return next(filter(None, verdicts), None) or _by_status(status, text, read_only=read_only)


def _by_status(status: int, text: str, *, read_only: bool) -> MappedError:
    if status in (401, 403):
        return MappedError(AuthError, "check the user name and password, or the token, and their permissions")
    if status == 404:
        return MappedError(NotFoundError)
    if status in (409, 410, 412):
        return MappedError(ConflictError)
    if status in (502, 503, 504):
        # Something between the client and the controller answered, or the controller gave up midway.
        if read_only:
            return MappedError(NotAppliedError, "check that the role behind the address is running")
        return MappedError(OutcomeUnknownError, "read the state back before repeating the call")
    if status >= 500 and not text and not read_only:
        return MappedError(OutcomeUnknownError, "read the state back before repeating the call")
    return MappedError(RejectedError)
