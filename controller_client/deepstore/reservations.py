"""Servers that somebody is about to stop, so that nobody else counts their copies meanwhile.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/stopping_servers
        mapFields.<server>: token, owner, untilMs, process

A reservation is written before the check that it is for, by compare-and-set, and the check counts every
server that was reserved by then as down. So of two people who ask at the same time, the later one counts the
servers of the first one, whatever the order of their checks. A check with another result than safe takes its
reservation back.

A reservation ends at its time, or when the server runs as another process than before, or when it is
released. Its time is by the clock of the machine that wrote it; others wait a minute longer, because theirs
may be ahead.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from controller_client.clock import Clock
from controller_client.common.formats import Format, with_unknown
from controller_client.common.parsing import whole_number
from controller_client.common.text import visible
from controller_client.deepstore.safe_to_stop import Safety
from controller_client.errors import ConfigError, ConflictError, DataError, PinotPluginError
from controller_client.helix.instance_config import live_process
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["LONGEST_MINUTES", "RESERVATIONS_FORMAT", "Reservation", "Reservations"]

logger = logging.getLogger(__name__)

RESERVATIONS_FORMAT = Format("the record of servers that are about to be stopped")
LONGEST_MINUTES = 24 * 60

_PATH = "/PINOT_PLUGINS/stopping_servers"
_SKEW_S = 60.0
_TOKEN, _OWNER, _UNTIL, _PROCESS = "token", "owner", "untilMs", "process"

_Fields = Mapping[str, str]


@dataclass(frozen=True)
class Reservation:
    """A server that somebody is about to stop.

    Attributes:
        server: Name of the instance.
        owner: Who reserved it.
        until_ms: When the reservation ends, epoch milliseconds.
    """

    server: str
    owner: str
    until_ms: int


class Reservations:
    """The reservations of a cluster.

    Each method raises `DataError` if the record is damaged, `FormatVersionError` if a later release wrote it,
    and `UnreachableError` if ZooKeeper does not answer.

    Args:
        store: The cluster's property store, connected.
        clock: The clock.
    """

    def __init__(self, store: PropertyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def active(self) -> list[Reservation]:
        """Return the reservations that have not ended."""
        found = self._store.get(_PATH)
        entries = self._active(found.record) if found else {}
        return [_reservation(server, fields) for server, fields in entries.items()]

    def check_reserved(
        self,
        servers: Sequence[str],
        minutes: int,
        owner: str,
        check: Callable[[Sequence[Reservation]], Safety],
    ) -> Safety:
        """Check whether servers can be stopped; if so, they are reserved when this returns.

        Args:
            servers: Names of the instances.
            minutes: How long they are reserved, counted from the end of the check.
            owner: Who reserves them, for others.
            check: Checks the servers, given the reservations of others, which count as down.

        Raises:
            ConflictError: The check took longer than the reservation, or somebody else reserved or released
                one of the servers meanwhile; nothing is reserved.
        """
        token = uuid.uuid4().hex
        began_s = self._clock.monotonic()
        others, replaced = self.reserve(servers, minutes, owner, token)
        try:
            safety = check(others)
            if safety.safe:
                if self._clock.monotonic() - began_s >= minutes * 60:
                    raise ConflictError(
                        f"the check took longer than {minutes} minutes, so others may have counted these "
                        "servers meanwhile",
                        remedy="reserve them for longer",
                    )
                self._prolong(servers, minutes, token)
                return safety
        except BaseException:
            try:
                self._take_back(token, replaced)
            except PinotPluginError as error:
                logger.warning("the reservation ends only by itself: %s", error)
            raise
        self._take_back(token, replaced)
        return safety

    def reserve(
        self, servers: Sequence[str], minutes: int, owner: str, token: str
    ) -> tuple[list[Reservation], Mapping[str, _Fields]]:
        """Reserve servers before they are checked.

        Returns:
            The reservations of other servers that there were, and the fields of those that were replaced.
        """
        if not 0 < minutes <= LONGEST_MINUTES:
            raise ConfigError(f"a reservation of {minutes} minutes", expected=f"1 to {LONGEST_MINUTES}")
        processes = {server: live_process(self._store, server) or "" for server in servers}
        others: dict[str, _Fields] = {}
        replaced: dict[str, _Fields] = {}

        def reserved(present: ZNRecord | None) -> ZNRecord:
            if present is not None and _has_token(present, token, servers):
                return present  # of an attempt whose reply was lost
            entries = self._active(present)
            others.clear()
            replaced.clear()
            until_ms = self._end_ms(minutes)
            for server, fields in entries.items():
                (replaced if server in servers else others)[server] = fields
            for server in servers:
                end_ms = max(until_ms, _until(server, replaced[server]) if server in replaced else 0)
                fields = {_TOKEN: token, _OWNER: owner, _UNTIL: str(end_ms), _PROCESS: processes[server]}
                entries[server] = with_unknown(fields, replaced.get(server, {}), fields)
            return _record(entries, present)

        self._store.change(_PATH, reserved)
        return [_reservation(server, fields) for server, fields in others.items()], replaced

    def release(self, servers: Collection[str]) -> list[Reservation]:
        """End the reservations of servers, whoever made them; return these."""
        released: dict[str, Reservation] = {}

        def without(present: ZNRecord | None) -> ZNRecord | None:
            entries = self._active(present)
            for server in entries.keys() & servers:
                released[server] = _reservation(server, entries.pop(server))
            return present if present is None else _record(entries, present)

        self._store.change(_PATH, without)
        return [released[server] for server in sorted(released)]

    def _prolong(self, servers: Sequence[str], minutes: int, token: str) -> None:
        end_ms = self._end_ms(minutes)

        def prolonged(present: ZNRecord | None) -> ZNRecord:
            if present is None or not _has_token(present, token, servers):
                raise ConflictError(
                    "somebody else has reserved or released one of the servers during the check",
                    remedy="agree on who stops it, then try again",
                )
            entries = {server: dict(fields) for server, fields in present.map_fields.items()}
            for server in servers:
                entries[server][_UNTIL] = str(max(end_ms, _until(server, entries[server])))
            return _record(entries, present)

        self._store.change(_PATH, prolonged)

    def _take_back(self, token: str, replaced: Mapping[str, _Fields]) -> None:
        """Remove what was reserved with a token, and restore what it replaced."""

        def restored(present: ZNRecord | None) -> ZNRecord | None:
            if present is None:
                return None
            entries: dict[str, _Fields] = {}
            for server, fields in present.map_fields.items():
                if fields.get(_TOKEN) != token:
                    entries[server] = fields
                elif server in replaced:
                    entries[server] = replaced[server]
            return _record(entries, present)

        self._store.change(_PATH, restored)

    def _active(self, present: ZNRecord | None) -> dict[str, _Fields]:
        if present is None:
            return {}
        RESERVATIONS_FORMAT.check(present.simple_fields, _PATH)
        return {
            server: each for server, each in present.map_fields.items() if not self._is_over(server, each)
        }

    def _is_over(self, server: str, fields: _Fields) -> bool:
        if self._clock.now() > _until(server, fields) / 1000 + _SKEW_S:
            return True
        process = None
        with suppress(ConfigError):  # no name of an instance
            process = live_process(self._store, server)
        # A server that lost its session with ZooKeeper, and has a new one, still is the same process.
        return process is not None and process != fields.get(_PROCESS, process)

    def _end_ms(self, minutes: int) -> int:
        return int((self._clock.now() + minutes * 60) * 1000)


def _record(entries: Mapping[str, _Fields], present: ZNRecord | None) -> ZNRecord:
    base = present or ZNRecord("stopping_servers")
    fields = with_unknown(RESERVATIONS_FORMAT.stamp({}), base.simple_fields, ())
    return replace(base, simple_fields=fields, map_fields={name: {**each} for name, each in entries.items()})


def _has_token(record: ZNRecord, token: str, servers: Sequence[str]) -> bool:
    return all(record.map_fields.get(server, {}).get(_TOKEN) == token for server in servers)


def _reservation(server: str, fields: _Fields) -> Reservation:
    return Reservation(server, visible(fields.get(_OWNER, "?")), _until(server, fields))


def _until(server: str, fields: _Fields) -> int:
    until_ms = whole_number(fields.get(_UNTIL))
    if until_ms is None:
        raise DataError(
            f"the reservation of {visible(server)} has no end",
            expected=f"{_UNTIL}, in milliseconds since 1970",
            where=_PATH,
            remedy="delete the record, once nobody is about to stop a server",
        )
    return until_ms
