"""Tables with Pinot's own upsert or dedup: what forced commits and changed offsets can do to them."""

from __future__ import annotations

from controller_client.models import TableConfig

__all__ = ["upsert_warnings"]

CONSISTENCY_KEY = "pinot.server.consuming.segment.consistency.mode"
"""Cluster config of Pinot 1.5 and later that allows forced commits of tables whose replicas may differ."""


def upsert_warnings(table: TableConfig) -> list[str]:
    """Return what a pause, a forced commit or a resume at other offsets can do to the rows of a table."""
    warnings = []
    why = _order_matters(table)
    if why:
        warnings.append(
            f"{why}: Pinot 1.5 and later refuse forced commits unless the cluster config "
            f"{CONSISTENCY_KEY} is PROTECTED or UNSAFE"
        )
        if table.replicas > 1:
            warnings.append(
                f"{why} with {table.replicas} replicas: each one processes rows in its own order, so they "
                f"may differ after a forced commit"
            )
    if table.pinots_upsert == "PARTIAL":
        warnings.append("partial upsert: rows that are read again, from an earlier offset, are merged again")
    if table.pinots_dedup:
        warnings.append(
            "dedup: rows that are read again, from an earlier offset, are dropped while their keys are known"
        )
    return warnings


def _order_matters(table: TableConfig) -> str | None:
    config = (table.model_extra or {}).get("upsertConfig") or {}
    if table.pinots_upsert is None:
        return None
    if table.pinots_upsert == "PARTIAL":
        return "partial upsert"
    if config.get("dropOutOfOrderRecord"):
        return "upsert with dropOutOfOrderRecord"
    return "upsert with outOfOrderRecordColumn" if config.get("outOfOrderRecordColumn") else None
