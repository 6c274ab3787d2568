"""Audits several tables; one that cannot be audited does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.deepstore.audit import Auditor, TableAudit
from controller_client.errors import DataError, NotFoundError, PinotPluginError

__all__ = ["AuditedTables", "TableFailure", "audit_tables"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TableFailure:
    """A table that could not be audited.

    Attributes:
        table: Name with type.
        message: Why.
    """

    table: TableName
    message: str


@dataclass(frozen=True)
class AuditedTables:
    """The audits, and the tables that could not be audited."""

    audits: tuple[TableAudit, ...]
    failed: tuple[TableFailure, ...]


def audit_tables(
    auditor: Auditor,
    named: Sequence[TableName] = (),
    on_segments: Callable[[int], None] = lambda _count: None,
) -> AuditedTables:
    """Audit tables, one after another; failures are part of the result.

    Args:
        auditor: Audits a table.
        named: The tables; if empty, all tables, except those that are dropped meanwhile.
        on_segments: Called in this thread with the number of segments judged since the last call.

    Raises:
        PinotPluginError: The tables cannot be listed, or none of them could be audited: the first error.
    """
    audits: list[TableAudit] = []
    failed: list[TableFailure] = []
    first: PinotPluginError | None = None
    for table in named or auditor.tables():
        try:
            audits.append(auditor.audit(table, on_segments))
        except PinotPluginError as error:
            if isinstance(error, NotFoundError) and not named:
                continue
            logger.error("%s was not audited: %s", table, error)
            failed.append(TableFailure(table, error.message))
            first = first or error
        except Exception as error:  # a boundary: the records of one table must not affect other tables
            logger.exception("%s was not audited", table)
            broken = DataError(
                f"the audit of {table} failed: {type(error).__name__}: {error}",
                remedy="see the log; other tables are not affected",
            )
            failed.append(TableFailure(table, broken.message))
            first = first or broken
    if first is not None and not audits:
        raise first
    return AuditedTables(tuple(audits), tuple(failed))
