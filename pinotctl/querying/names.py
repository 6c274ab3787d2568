"""Names that a statement may contain: keywords, tables and their columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from controller_client.common.names import TableType
from controller_client.errors import NotFoundError, PinotPluginError
from controller_client.models import Schema
from pinotctl.context import CliContext

__all__ = ["KEYWORDS", "Names"]

_WORDS = """
    and as asc avg between by case cast count desc distinct distinctcount else end explain false for
    from group having in inner is join left like limit max min not null offset on option or order over
    partition plan regexp_like select set sum then true union when where with
"""
KEYWORDS = tuple(_WORDS.split())
"""The most used keywords of Pinot's SQL, and the common aggregations."""

_TABLE = re.compile(r"""\b(?:from|join)\s+"?([\w.$-]+)""", re.IGNORECASE)


class Names:
    """Tables and columns of the cluster, each read once; what cannot be read yields no names.

    Args:
        cli: The context of the run.
    """

    def __init__(self, cli: CliContext) -> None:
        self._cli = cli
        self._tables: list[str] | None = None
        self._columns: dict[str, list[str]] = {}

    def schema(self, table: str) -> Schema:
        """Return a table's schema.

        Raises:
            NotFoundError: There is no such table; the error suggests similar names.
        """
        client = self._cli.client()
        raw = table.removesuffix("_OFFLINE").removesuffix("_REALTIME")
        try:
            return client.schemas.get(raw)
        except NotFoundError:
            # In old versions a schema may have another name than its table.
            for kind in TableType:
                name = f"{raw}_{kind}"
                if client.tables.exists(name):
                    return client.schemas.of_table(client.tables.in_use(name))
            raise client.tables.unknown(table) from None

    def fitting(self, word: str, statement: str) -> Iterator[str]:
        """Return the names that begin with a word.

        Args:
            word: What has been typed.
            statement: The statement that contains the word: columns come from its tables.
        """
        upper = word.isupper()
        keywords = (each.upper() if upper else each for each in KEYWORDS)
        columns = (column for table in _TABLE.findall(statement) for column in self._columns_of(table))
        begin = word.casefold()
        for name in dict.fromkeys((*columns, *self.tables(), *keywords)):
            if name.casefold().startswith(begin) and name != word:
                yield name

    def tables(self) -> Iterable[str]:
        """The tables' names, without types."""
        if self._tables is None:
            try:
                self._tables = self._cli.client().tables.list()
            except PinotPluginError:
                return ()
        return self._tables

    def _columns_of(self, table: str) -> Iterable[str]:
        if table not in self._columns:
            try:
                self._columns[table] = [field.name for field in self.schema(table).fields]
            except PinotPluginError:
                return ()
        return self._columns[table]
