"""The metrics of the uploads of commits."""

from __future__ import annotations

from controller_client.monitoring import Monitoring, catalogue
from server_hooks.commit_upload.backlog import Backlog
from server_hooks.commit_upload.outcomes import OutcomeCounts, UploadOutcome
from server_hooks.commit_upload.upload_state import BacklogLevel

__all__ = ["publish_uploads"]


def publish_uploads(monitoring: Monitoring, counts: OutcomeCounts, backlog: Backlog) -> None:
    """Add a server's uploads and backlog to the metrics of its process; each scrape reads the values."""

    def oldest() -> dict[tuple[str, ...], float]:
        built_s = backlog.oldest_built_s
        return {} if built_s is None else {(): built_s}

    def level() -> dict[tuple[str, ...], float]:
        present = backlog.level
        return {(each.value,): each is present for each in BacklogLevel}

    monitoring.sample(
        catalogue.UPLOADS, lambda: {(outcome.value,): counts.get(outcome) for outcome in UploadOutcome}
    )
    monitoring.sample(catalogue.BACKLOG_SEGMENTS, lambda: {(): backlog.segments})
    monitoring.sample(catalogue.BACKLOG_BYTES, lambda: {(): backlog.bytes})
    monitoring.gauge(catalogue.BACKLOG_MAX_BYTES).set(backlog.max_bytes)
    monitoring.sample(catalogue.BACKLOG_OLDEST, oldest)
    monitoring.sample(catalogue.BACKLOG_LEVEL, level)
