"""Audits several tables: one that cannot be inspected does not keep the others from it."""

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
    """A table that could not be inspected.

    Attributes:
        table: Name with type.
        message: Why.
    """

    table: TableName
    message: str


@dataclass(frozen=True)
class AuditedTables:
    """What was found, and what could not be inspected."""

    audits: tuple[TableAudit, ...]
    failed: tuple[TableFailure, ...]


def audit_tables(
    auditor: Auditor,
    named: Sequence[TableName] = (),
    on_segments: Callable[[int], None] = lambda _count: None,
) -> AuditedTables:
    """Look at tables, one after the other; what fails is in the answer.

    Args:
        auditor: Looks at a table.
        named: The tables; none: all that there are, and one that is dropped meanwhile is none of them.
        on_segments: Called in this thread with how many more segments have been judged.

    Raises:
        PinotPluginError: The tables cannot be listed, or not one of them could be inspected: the first error.
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
        except Exception as error:  # a border: the record of one table is nobody else's matter
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
