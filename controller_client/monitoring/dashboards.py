"""Dashboards for Grafana: described here, exported as the JSON that Grafana imports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DASHBOARDS", "Dashboard", "Panel", "dashboard_json", "expressions"]

_SCHEMA_VERSION = 39
"""The version of Grafana 11's JSON; later releases convert it."""
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 24


@dataclass(frozen=True)
class Panel:
    """A chart over time.

    Attributes:
        title: Title of the panel.
        unit: Grafana's name for the unit.
        queries: Expressions, each with the legend of its series.
    """

    title: str
    unit: str
    queries: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Dashboard:
    """A dashboard.

    Attributes:
        uid: Its name in Grafana's URLs and the name of its file.
        title: Title of the dashboard.
        panels: The panels, in reading order.
    """

    uid: str
    title: str
    panels: Sequence[Panel]


def _p(name: str) -> str:
    return f"pinot_plugins_{name}"


PROCESSES = Dashboard(
    "pinot-plugins-processes",
    "pinot-plugins: processes",
    (
        Panel(
            "Processes",
            "short",
            [(f"count by (process, version) ({_p('process_info')})", "{{process}} {{version}}")],
        ),
        Panel("Ready", "short", [(_p("process_ready_ratio"), "{{instance}}")]),
        Panel(
            "Time since the last heartbeat",
            "s",
            [(f"time() - {_p('process_last_round_timestamp_seconds')}", "{{instance}} {{loop}}")],
        ),
        Panel(
            "Failed rounds per minute",
            "short",
            [(f"60 * rate({_p('process_failed_rounds_total')}[5m])", "{{instance}} {{loop}}")],
        ),
        Panel("Leases", "short", [(f"max by (lease) ({_p('lease_held_ratio')})", "{{lease}}")]),
        Panel(
            "Errors of hooks per minute",
            "short",
            [(f"60 * rate({_p('hook_errors_total')}[5m])", "{{instance}} {{hook}}")],
        ),
        Panel("Memory", "bytes", [('process_resident_memory_bytes{job=~"pinot-plugins.*"}', "{{instance}}")]),
        Panel(
            "CPU",
            "short",
            [('rate(process_cpu_seconds_total{job=~"pinot-plugins.*"}[5m])', "{{instance}}")],
        ),
    ),
)

INGESTION = Dashboard(
    "pinot-plugins-ingestion",
    "pinot-plugins: FileIngestionTask",
    (
        Panel(
            "Runs per hour",
            "short",
            [
                (
                    f"sum by (table, outcome) (increase({_p('ingestion_runs_total')}[1h]))",
                    "{{table}} {{outcome}}",
                )
            ],
        ),
        Panel(
            "Consecutive failed runs",
            "short",
            [(f"{_p('ingestion_consecutive_failed_runs')} > 0", "{{table}}")],
        ),
        Panel(
            "Age of open sessions",
            "s",
            [(f"time() - {_p('ingestion_open_session_started_timestamp_seconds')}", "{{table}}")],
        ),
        Panel(
            "Time since the last successful run",
            "s",
            [(f"time() - {_p('ingestion_last_good_run_timestamp_seconds')}", "{{table}}")],
        ),
        Panel(
            "Runs in progress",
            "s",
            [(f"time() - {_p('ingestion_run_started_timestamp_seconds')}", "{{table}}")],
        ),
        Panel(
            "Retries per hour",
            "short",
            [(f"sum by (table) (increase({_p('ingestion_retries_total')}[1h]))", "{{table}}")],
        ),
        Panel(
            "Files per hour",
            "short",
            [(f"sum by (table) (increase({_p('ingestion_files_total')}[1h]))", "{{table}}")],
        ),
        Panel(
            "Rows and bytes per hour",
            "short",
            [
                (f"sum by (table) (increase({_p('ingestion_rows_total')}[1h]))", "{{table}} rows"),
                (f"sum by (table) (increase({_p('ingestion_read_bytes_total')}[1h]))", "{{table}} bytes"),
            ],
        ),
        Panel(
            "Running subtasks and slots",
            "short",
            [
                (f"sum by (task_type) ({_p('minion_running_subtasks')})", "{{task_type}}"),
                (f"sum({_p('minion_subtask_slots')})", "slots"),
            ],
        ),
        Panel(
            "Subtasks in the queues",
            "short",
            [(f"max by (tag, state) ({_p('queue_subtasks')})", "{{tag}} {{state}}")],
        ),
        Panel(
            "Finished subtasks per minute",
            "short",
            [(f"60 * sum by (outcome) (rate({_p('minion_subtasks_total')}[5m]))", "{{outcome}}")],
        ),
        Panel(
            "Bytes read by minions", "Bps", [(f"rate({_p('minion_read_bytes_total')}[5m])", "{{instance}}")]
        ),
        Panel(
            "Files of minions per minute",
            "short",
            [(f"60 * sum by (outcome) (rate({_p('minion_files_total')}[5m]))", "{{outcome}}")],
        ),
    ),
)

_BEHIND = (
    f"max by (table) ({_p('coordinator_version')}) - on (table) min by (table) ({_p('upsert_mark_version')})"
)

REALTIME = Dashboard(
    "pinot-plugins-realtime",
    "pinot-plugins: pauses, deep store, upsert",
    (
        Panel("Paused partitions by server", "short", [(_p("paused_partitions"), "{{instance}} {{table}}")]),
        Panel(
            "Age of pauses",
            "s",
            [(f"time() - min by (table) ({_p('pause_since_timestamp_seconds')})", "{{table}}")],
        ),
        Panel(
            "Rows of paused partitions",
            "short",
            [
                (f"max by (table) ({_p('pause_waiting_rows')})", "{{table}} waiting"),
                (f"max by (table) ({_p('pause_expiring_rows')})", "{{table}} expiring"),
                (f"max by (table) ({_p('pause_lost_rows')})", "{{table}} lost"),
            ],
        ),
        Panel(
            "Uploads of commits per minute",
            "short",
            [(f"60 * sum by (outcome) (rate({_p('upload_uploads_total')}[5m]))", "{{outcome}}")],
        ),
        Panel("Upload backlog", "bytes", [(_p("upload_backlog_bytes"), "{{instance}}")]),
        Panel(
            "Age of the oldest tar in the backlog",
            "s",
            [(f"time() - {_p('upload_backlog_oldest_timestamp_seconds')}", "{{instance}}")],
        ),
        Panel(
            "Segments with faults",
            "short",
            [(f"sum by (table, fault) ({_p('deepstore_faulty_segments')}) > 0", "{{table}} {{fault}}")],
        ),
        Panel(
            "Segments without a good copy",
            "short",
            [
                (_p("deepstore_uncopied_segments"), "{{table}} anywhere"),
                (_p("deepstore_unstored_segments"), "{{table}} in the store"),
            ],
        ),
        Panel(
            "Repairs per hour",
            "short",
            [(f"increase({_p('deepstore_repairs_total')}[1h])", "{{outcome}}")],
        ),
        Panel(
            "Versions by which the mark lags",
            "short",
            [(_BEHIND, "{{table}}")],
        ),
        Panel(
            "Age of the state seen by queries",
            "s",
            [(f"time() - min by (table) ({_p('upsert_mark_timestamp_seconds')})", "{{table}}")],
        ),
        Panel(
            "Coordinators: rows per second, waiting rows",
            "short",
            [
                (f"rate({_p('coordinator_rows_total')}[5m])", "{{table}} read"),
                (_p("coordinator_lag_rows"), "{{table}} waiting"),
            ],
        ),
    ),
)

DASHBOARDS = (PROCESSES, INGESTION, REALTIME)


def expressions() -> Iterator[str]:
    """Yield every expression of all dashboards."""
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            for expression, _legend in panel.queries:
                yield expression


def dashboard_json(dashboard: Dashboard) -> dict[str, Any]:
    """Return a dashboard as JSON for Grafana; the data source is chosen there."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["pinot-plugins"],
        "schemaVersion": _SCHEMA_VERSION,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
            ]
        },
        "panels": [_panel(number, each) for number, each in enumerate(dashboard.panels)],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    offset = number * _WIDTH
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _DATASOURCE,
        "gridPos": {
            "x": offset % _COLUMNS,
            "y": offset // _COLUMNS * _HEIGHT,
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "expr": expression,
                "legendFormat": legend,
                "datasource": _DATASOURCE,
            }
            for index, (expression, legend) in enumerate(panel.queries)
        ],
    }
