"""Prints the report of a run of FileIngestionTask."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.common.text import counted_text, visible
from minion_tasks.file_ingestion.run.types import RunReport
from pinotctl.commands.task_tools import column_fields, servers_behind, version_fields
from pinotctl.context import CliContext

__all__ = ["show_report"]

_FILES_NOTED = 10


def show_report(cli: CliContext, report: RunReport) -> None:
    """Print the report of a run."""
    for reason in report.fallback_reasons:
        cli.out.note(f"files were read row by row: {reason}")
    for left_out, why in ((report.by_patterns, "excluded by the patterns"), (report.hidden, "hidden")):
        if left_out.files:
            cli.out.note(f"{counted_text(left_out.files, 'file')} {why}, such as {left_out.examples}")
    for column in report.columns:
        cli.out.note(f"{column.sentence()}, such as {visible(column.first)}")
    _note_some(cli, "changed since it was ingested; not read again", report.changed)
    _note_some(cli, "skipped because its reader could not be opened", report.skipped)
    behind = servers_behind(report.behind, as_text=not cli.out.is_json)
    if behind:
        cli.out.note(
            "some servers have not loaded all new segments yet; check with"
            f" 'pinotctl lineage doctor {report.table}'"
        )
    total_s = report.staging_s + report.switch_s
    cli.out.record(
        {
            "table": report.table,
            "outcome": report.outcome.value,
            "mode": report.mode.value,
            **version_fields(report.source_version),
            "session": report.session_id,
            "retry_count": report.retry_count,
            "files": report.files,
            "rows": report.rows,
            "segments": report.segments,
            "replaced_segments": report.replaced,
            **({"servers_behind": behind} if behind or cli.out.is_json else {}),
            "skipped_files": len(report.skipped),
            "left_out_by_patterns": report.by_patterns.files,
            "left_out_as_hidden": report.hidden.files,
            **column_fields(report.columns, as_text=not cli.out.is_json),
            "bytes_read": report.bytes_read,
            "staging_s": round(report.staging_s, 2),
            "switch_s": round(report.switch_s, 2),
            "rows_per_s": round(report.rows / total_s) if total_s else None,
        }
    )


def _note_some(cli: CliContext, what: str, uris: Sequence[str]) -> None:
    for uri in uris[:_FILES_NOTED]:
        cli.out.note(f"{what}: {visible(uri)}")
    if len(uris) > _FILES_NOTED:
        cli.out.note(f"... and {len(uris) - _FILES_NOTED:,} more: {what}")
