"""The low-water mark of an upsert table: the newest version complete on all servers that take queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError
from controller_client.helix import read_records_at
from controller_client.helix.ideal_state import read_external_view
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.columns import NIL
from controller_client.upsert.record import ServerRecord, low_water_mark, read_servers
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["NoMarkError", "TableMark", "read_mark", "takes_queries"]

_SERVING = frozenset({"ONLINE", "CONSUMING"})


class NoMarkError(NotAppliedError):
    """No version of the table is complete on all of its servers, so no result would be correct."""


@dataclass(frozen=True)
class TableMark:
    """The state of a table's servers at one moment.

    Attributes:
        table: Name with type.
        created: Identifies the table among those of the same name: the creation order of its config in
            ZooKeeper; None if the table does not exist.
        servers: The servers that brokers send its queries to, each with the record of its current session;
            None if it has not reported one.
    """

    table: TableName
    created: int | None
    servers: Mapping[str, ServerRecord | None]

    @property
    def version(self) -> int:
        """The low-water mark; -1 if a server has no record, or there are no servers."""
        return low_water_mark({name: record.mark if record else NIL for name, record in self.servers.items()})

    @property
    def at_ms(self) -> int:
        """When the coordinator completed that version, milliseconds since 1970; 0 if there is none."""
        version = self.version
        times = (record.at_ms for record in self.servers.values() if record and record.mark == version)
        return max(times, default=0) if version != NIL else 0

    @property
    def silent(self) -> tuple[str, ...]:
        """Servers that have not reported in their current session; they hold the mark back."""
        return tuple(sorted(name for name, record in self.servers.items() if record is None))

    @property
    def holders(self) -> tuple[str, ...]:
        """Servers that hold the mark back."""
        lowest = self.version
        marks = {name: record.mark if record else NIL for name, record in self.servers.items()}
        if len(set(marks.values())) < 2 and not self.silent:
            return ()
        return tuple(sorted(name for name, mark in marks.items() if mark == lowest))

    @property
    def cut_by_option(self) -> bool:
        """Whether its servers read a query's version from a query option: Pinot 1.3 and later."""
        return any(record.cuts_by_option for record in self.servers.values() if record)

    @property
    def segments(self) -> frozenset[str]:
        """The consuming segments in the records: a broker that uses the mark must query them."""
        return frozenset(
            progress.segment
            for record in self.servers.values()
            if record
            for progress in record.partitions.values()
            if progress.segment
        )

    def why_none(self) -> str:
        """Explain why there is no mark, in a sentence."""
        if not self.servers:
            return "it has no live server"
        if self.silent:
            return (
                f"{', '.join(self.silent)} has not reported its progress (check that it runs with the hook "
                f"upsert)"
            )
        return f"{', '.join(self.holders) or 'no server'} has completed no version yet"

    def check_asked(self, *, by_option: bool | None) -> None:
        """Refuse a query whose version a server would ignore: it would return the rows of all versions.

        Args:
            by_option: Whether the query contains the version as an option rather than as an SQL condition;
                None: either, but all servers must expect the same.

        Raises:
            NoMarkError: A server expects the other form.
        """
        wants = {name: record.cuts_by_option for name, record in self.servers.items() if record}
        if len(set(wants.values()) | ({by_option} - {None})) < 2:
            return
        expectations = "; ".join(
            f"{', '.join(sorted(name for name in wants if wants[name] is each))} "
            f"by {'a query option' if each else 'an SQL condition'}"
            for each in sorted(set(wants.values()))
        )
        asked = {
            None: "",
            True: "; the query contains it as an option",
            False: "; the query contains it as a condition",
        }
        raise NoMarkError(
            f"not all servers of {self.table} expect a query's version in the same form: "
            f"{expectations}{asked[by_option]}",
            where=self.table,
            expected="servers, and brokers with the hook upsert, of the same Pinot version",
            remedy="finish the upgrade; until then the query option skipUpsert=true shows all rows",
        )

    def required(self) -> int:
        """Return the version.

        Raises:
            NoMarkError: There is none.
        """
        if self.version == NIL:
            raise NoMarkError(
                f"no version of {self.table} is complete on all of its servers: {self.why_none()}",
                where=self.table,
                remedy="see 'pinotctl upsert status'; the query option skipUpsert=true shows all rows",
            )
        return self.version


def read_mark(store: PropertyStore, table: TableName) -> TableMark:
    """Read the progress of the servers that brokers send a table's queries to.

    These servers host a segment of the table in the external view, are connected, and are neither shutting
    down nor disabled for queries.

    Args:
        store: The cluster's property store.
        table: Name with type.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    cluster = f"/{store.cluster_name}"
    states = read_external_view(store, table)
    names = sorted(
        {name for replicas in states.values() for name, state in replicas.items() if state in _SERVING}
    )
    # A report about a deleted table does not count for a new table of the same name.
    created = store.creation_order(table_config_path(table))
    # Records last: a record that is read was written after its session began.
    live = read_records_at(store, [f"{cluster}/LIVEINSTANCES/{name}" for name in names])
    configs = read_records_at(store, [f"{cluster}/CONFIGS/PARTICIPANT/{name}" for name in names])
    reported = read_servers(store, table)
    servers: dict[str, ServerRecord | None] = {}
    for name, session, config in zip(names, live, configs, strict=True):
        if session is None or not takes_queries(config):
            continue
        record = reported.get(name)
        is_present = (
            record is not None
            and record.session == session.simple_fields.get("SESSION_ID")
            and record.created == created
        )
        servers[name] = record if is_present else None
    return TableMark(table, created, servers)


def takes_queries(config: ZNRecord | None) -> bool:
    """Whether brokers send queries to a server with this instance config, by the rules of Pinot's routing."""
    if config is None:
        return False
    simple = {key: value.lower() for key, value in config.simple_fields.items()}
    refused = simple.get("shutdownInProgress") == "true" or simple.get("queriesDisabled") == "true"
    return not refused and simple.get("HELIX_ENABLED") != "false"
