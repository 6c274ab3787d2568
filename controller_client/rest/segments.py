"""Segments: list, read, push in three ways, delete, wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.errors import ConfigError, WaitTimeoutError
from controller_client.models import SegmentMetadata
from controller_client.rest.capabilities import Capability
from controller_client.rest.segment_reloads import SegmentReloads
from controller_client.rest.segment_states import LoadState, Unloaded, first_few
from controller_client.rest.transport import path_of

__all__ = ["SegmentsApi"]

_LONGEST_REASON = 300
_ERROR_GRACE_S = 10.0
_PUSH_TIMEOUT_S = 600.0


class SegmentsApi(SegmentReloads):
    """Resource group ``/segments``, of one table each (name with type)."""

    def list(self, table: str, exclude_replaced: bool = True) -> list[str]:
        """Return the names of a table's segments.

        Args:
            table: Table.
            exclude_replaced: Leave out what the lineage hides: replaced segments, and new ones of a
                replacement that is not completed.

        Raises:
            NotFoundError: There is no such table.
            UnsupportedError: The version cannot leave out replaced segments.
        """
        table_type = TableName(table).type
        if exclude_replaced:
            self._capabilities().require(Capability.EXCLUDE_REPLACED_SEGMENTS)
        answer = self._transport.get_json(
            path_of("segments", table),
            params={"type": table_type, "excludeReplacedSegments": str(exclude_replaced).lower()},
        )
        return sorted(name for group in answer for name in group.get(table_type) or ())

    def metadata(self, table: str, segment: str) -> SegmentMetadata:
        """Return a segment's metadata.

        Raises:
            NotFoundError: There is no such segment.
        """
        path = path_of("segments", table, segment, "metadata")
        return SegmentMetadata.from_json(self._transport.get_json(path))

    def delete(self, table: str, names: Collection[str], *, retention: str | None = None) -> None:
        """Ask for the deletion of segments; servers drop them afterwards (see :meth:`wait_gone`).

        Args:
            table: Table.
            names: Segments; unknown ones are no error.
            retention: How long the tars stay among the deleted ones, e.g. ``"0d"``; default: the cluster's.
        """
        if not names:
            return
        self._transport.request(
            "POST",
            path_of("segments", table, "delete"),
            params={"retention": retention},
            json=sorted(names),
        )

    def upload_tar(self, table: str, tar_path: Path, *, allow_refresh: bool = True) -> None:
        """Push a segment's tar.gz through the controller, which stores it.

        Args:
            table: Table.
            tar_path: A tar.gz with the segment's directory.
            allow_refresh: Replace a segment of the same name at once.

        Raises:
            NotFoundError: There is no such table.
            ConflictError: There is a segment of that name, and ``allow_refresh`` is false.
            RejectedError: The time range is wrong, a quota is full, the tar is broken.
            OutcomeUnknownError: The reply was lost: look whether the segment is there, with the crc.
        """
        self._push(table, tar_path, {}, allow_refresh)

    def upload_uri(self, table: str, uri: str, *, allow_refresh: bool = True) -> None:
        """Let the controller fetch a segment's tar.gz and store it; errors as of :meth:`upload_tar`.

        Args:
            table: Table.
            uri: Address with a scheme that the controller has a fetcher for (never ``file``).
            allow_refresh: Replace a segment of the same name at once.
        """
        if uri.lower().startswith("file:"):
            raise ConfigError(
                f"the controller cannot fetch from a file: address: {uri}",
                expected="an address of a deep store or http(s)",
                remedy="push the tar, or its metadata",
            )
        self._transport.request(
            "POST",
            "/v2/segments",
            params=self._push_params(table, allow_refresh),
            headers={"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": uri, "Content-Type": "application/json"},
            json={},
            read_timeout_s=_PUSH_TIMEOUT_S,
        )

    def push_metadata(
        self,
        table: str,
        metadata_tar: Path,
        download_uri: str,
        *,
        copy_to_deep_store: bool,
        allow_refresh: bool = True,
    ) -> None:
        """Push a segment whose tar.gz is in place already; errors as of :meth:`upload_tar`.

        Args:
            table: Table.
            metadata_tar: A tar.gz with ``creation.meta`` and ``metadata.properties`` in a directory.
            download_uri: Where the segment's tar.gz is.
            copy_to_deep_store: Let the controller copy it to its own place in the deep store; both must
                have the same scheme. False: servers download from ``download_uri`` for ever.
            allow_refresh: Replace a segment of the same name at once.
        """
        headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": download_uri}
        if copy_to_deep_store:
            self._capabilities().require(Capability.COPY_TO_DEEP_STORE)
            headers["COPY_SEGMENT_TO_DEEP_STORE"] = "true"
        self._push(table, metadata_tar, headers, allow_refresh)

    def download(self, table: str, segment: str, path: Path) -> int:
        """Write a segment's tar.gz from the controller's deep store to a file.

        Returns:
            Bytes written.

        Raises:
            NotFoundError: The deep store lacks it (segments pushed by metadata may lie elsewhere).
        """
        # The controller's folders have raw table names.
        raw = TableName(table).raw
        with path.open("wb") as target:
            return self._transport.download(path_of("segments", raw, segment), target)

    def wait_online(self, table: str, names: Iterable[str], timeout_s: float) -> None:
        """Wait until each segment is where, and in the state that, the ideal state demands.

        Args:
            table: Table.
            names: Segments.
            timeout_s: Seconds until the last check.

        Raises:
            WaitTimeoutError: The error lists which segments are in which state; raised early when a server
                keeps a segment in ERROR, which does not pass by itself.
        """
        wanted = sorted(set(names))
        error_since: float | None = None
        clock = self._transport.clock

        def missing() -> str | None:
            nonlocal error_since
            faults = self.unloaded(table, wanted)
            if not faults:
                return None
            count = f"{len({fault.segment for fault in faults})} of {len(wanted)} segments"
            if any(fault.in_error for fault in faults):
                error_since = clock.monotonic() if error_since is None else error_since
                if clock.monotonic() - error_since >= _ERROR_GRACE_S:
                    raise WaitTimeoutError(
                        f"{count} of {table} do not load: {first_few(faults)}",
                        expected="the states of the ideal state",
                        remedy="see the server's log: can it read the segment's download address?",
                    )
            else:
                error_since = None
            return f"{count} are not there yet: {first_few(faults)}"

        wait_until(
            missing,
            what=f"{len(wanted)} segments of {table} online",
            timeout_s=timeout_s,
            clock=clock,
            longest_poll_s=0.5,  # two reads a time; a reader waits for the end of it
            remedy="see the servers' logs, and whether the servers are up",
        )

    def unloaded(self, table: str, names: Iterable[str]) -> Sequence[Unloaded]:
        """Return where segments differ from the ideal state, or are not in it.

        Args:
            table: Table.
            names: Segments.
        """
        return self.load_state(table, names).faults

    def load_state(self, table: str, names: Iterable[str]) -> LoadState:
        """Return how far servers have loaded segments; arguments as of :meth:`unloaded`."""
        ideal = self._tables.ideal_state(table)
        return LoadState.of(names, ideal, self._tables.external_view(table))

    def reset(self, table: str, segment: str, *, server: str | None = None) -> None:
        """Let servers drop a segment and load it again: what gets it out of ERROR.

        It may stay OFFLINE then until Helix' controller is woken (:func:`.zookeeper.wake_helix`).

        Args:
            table: Table.
            segment: Its name.
            server: Only this server, by its name in Helix; None: all that have it.

        Raises:
            NotFoundError: There is no such segment.
            RejectedError: A transition of the segment is under way already.
            OutcomeUnknownError: The reply was lost.
        """
        path = path_of("segments", table, segment, "reset")
        self._transport.request("POST", path, params={"targetInstance": server})

    def load_errors(self, table: str) -> dict[tuple[str, str], str]:
        """Return why segments did not load, as their servers report it.

        Returns:
            (segment, server) -> reason, 300 characters at most.
        """
        name = TableName(table)
        raw, table_type = name.raw, name.type
        answer = self._transport.get_json(path_of("debug", "tables", raw), params={"type": table_type})
        return {
            (info["segmentName"], server): reason
            for table in answer or ()
            for info in table.get("segmentDebugInfos") or ()
            for server, state in (info.get("serverState") or {}).items()
            if (reason := _reason((state or {}).get("errorInfo") or {}))
        }

    def wait_gone(self, table: str, names: Iterable[str], timeout_s: float) -> None:
        """Wait until neither ideal state, external view nor property store knows the segments.

        The property store is last: the controller forgets a segment's metadata some seconds after the servers
        have dropped it, and until then its name is taken.

        Raises:
            WaitTimeoutError: The error lists which segments are still there.
        """
        wanted = set(names)

        def missing() -> str | None:
            ideal = self._tables.ideal_state(table)
            seen = self._tables.external_view(table)
            left = sorted(wanted & (ideal.keys() | seen.keys()))
            if not left:
                left = sorted(wanted & self._recorded(table))
            return None if not left else f"{len(left)} of {len(wanted)} are still there: {first_few(left)}"

        wait_until(
            missing,
            what=f"{len(wanted)} segments of {table} to be gone",
            timeout_s=timeout_s,
            clock=self._transport.clock,
            remedy="delete them again",
        )

    def _recorded(self, table: str) -> set[str]:
        """Return the segments that the property store knows, also those that the ideal state has no more."""
        if not self._capabilities().has(Capability.ALL_SEGMENT_RECORDS):
            return set(self.list(table, exclude_replaced=False))  # which comes from there
        path = path_of("segments", table, "zkmetadata")
        return set(self._transport.get_json(path, params={"type": TableName(table).type}))

    def _push(self, table: str, tar_path: Path, headers: dict[str, str], allow_refresh: bool) -> None:
        with tar_path.open("rb") as tar:
            self._transport.request(
                "POST",
                "/v2/segments",
                params=self._push_params(table, allow_refresh),
                file=(tar_path.name, tar),
                headers=headers,
                read_timeout_s=_PUSH_TIMEOUT_S,
            )

    @staticmethod
    def _push_params(table: str, allow_refresh: bool) -> dict[str, str | None]:
        name = TableName(table)
        return {"tableName": name.raw, "tableType": name.type, "allowRefresh": str(allow_refresh).lower()}


def _reason(error_info: dict[str, str | None]) -> str | None:
    """The exception and its last cause, out of a Java stack trace; None where the server has no error."""
    lines = (error_info.get("stackTrace") or "").splitlines()
    if not lines:
        return (error_info.get("errorMessage") or "")[:_LONGEST_REASON] or None
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([lines[0], *causes[-1:]])[:_LONGEST_REASON]
