"""Segments: list, read, push (in three ways), delete, wait for."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.errors import ConfigError, UnsafeDeleteError, WaitTimeoutError
from controller_client.models import SegmentMetadata
from controller_client.rest.capabilities import Capability
from controller_client.rest.delete_risks import DeleteConsequence, DeleteRisk, consequences_of_delete
from controller_client.rest.lineage_entry import read_lineage
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.segment_reloads import SegmentReloads
from controller_client.rest.segment_states import LoadState, Unloaded, first_few

__all__ = ["SegmentsApi"]

_LONGEST_REASON = 300
_END_OFFSET = "segment.realtime.endOffset"
_ERROR_GRACE_S = 10.0
_PUSH_TIMEOUT_S = 600.0


class SegmentsApi(SegmentReloads):
    """Resource group ``/segments``, of one table each (name with type)."""

    def list(self, table: str, exclude_replaced: bool = True) -> list[str]:
        """Return the names of a table's segments.

        Args:
            table: Table.
            exclude_replaced: Omit segments hidden by the lineage: replaced segments, and new ones of an
                incomplete replacement.

        Raises:
            NotFoundError: There is no such table.
            UnsupportedError: The version cannot omit replaced segments.
        """
        table_type = TableName(table).type
        if exclude_replaced:
            self._capabilities().require(Capability.EXCLUDE_REPLACED_SEGMENTS)
        params = {"type": table_type, "excludeReplacedSegments": str(exclude_replaced).lower()}
        response = self._transport.request("GET", path_of("segments", table), params=params)
        clean = self._transport.clean
        return sorted(parse_reply(response, list, key=table_type, loads=_by_type, clean=clean))

    def metadata(self, table: str, segment: str) -> SegmentMetadata:
        """Return a segment's metadata.

        Raises:
            NotFoundError: There is no such segment.
        """
        path = path_of("segments", table, segment, "metadata")
        return SegmentMetadata.from_json(self._transport.get_json(path, dict))

    def delete(
        self,
        table: str,
        names: Collection[str],
        *,
        retention: str | None = None,
        accept: Collection[DeleteRisk] = (),
    ) -> None:
        """Request the deletion of segments; servers drop them afterwards (see :meth:`wait_gone`).

        Args:
            table: Table.
            names: Segments; unknown ones are ignored.
            retention: How long to keep the deleted tars, e.g. ``"0d"``; default: the cluster's setting.
            accept: What may follow beyond the loss of the segments' rows; ``set(DeleteRisk)``: anything.

        Raises:
            UnsafeDeleteError: Something else would follow; nothing was deleted. Pinot itself deletes whatever
                it is told to (before version 1.6).
        """
        if not names:
            return
        self.check_delete(table, names, accept=accept)
        self._transport.request(
            "POST",
            path_of("segments", table, "delete"),
            params={"retention": retention},
            json=sorted(names),
        )

    def check_delete(
        self, table: str, names: Collection[str], *, accept: Collection[DeleteRisk] = ()
    ) -> None:
        """Check what :meth:`delete` checks, without deleting anything; same arguments and errors."""
        if not names or set(DeleteRisk).issubset(accept):
            return
        refused = [each for each in self.consequences_of_delete(table, names) if each.risk not in accept]
        if refused:
            risks = ", ".join(sorted({f"DeleteRisk.{each.risk}" for each in refused}))
            raise UnsafeDeleteError(
                f"nothing was deleted, because more than rows would be lost: {first_few(refused)}",
                where=table,
                remedy=f"if you want that, pass accept=[{risks}]; `pinotctl segment delete` asks",
            )

    def consequences_of_delete(self, table: str, names: Collection[str]) -> Sequence[DeleteConsequence]:
        """Return what would follow if segments were deleted now, beyond the loss of their rows.

        Args:
            table: Table.
            names: Segments; unknown ones are ignored.

        Raises:
            NotFoundError: There is no such table.
        """

        def end_offset(segment: str) -> str | None:
            found = (self.metadata(table, segment).model_extra or {}).get(_END_OFFSET)
            return str(found) if found else None

        has_lineage = self._capabilities().has(Capability.LIST_LINEAGE)
        return consequences_of_delete(
            TableName(table),
            names,
            read_lineage(self._transport, table) if has_lineage else [],
            self._tables.ideal_state(table),
            end_offset,
        )

    def upload_tar(self, table: str, tar_path: Path, *, allow_refresh: bool = True) -> None:
        """Push a segment's tar.gz through the controller, which stores it.

        Args:
            table: Table.
            tar_path: A tar.gz with the segment's directory.
            allow_refresh: Replace a segment of the same name at once.

        Raises:
            NotFoundError: There is no such table.
            ConflictError: A segment of that name exists, and ``allow_refresh`` is false.
            RejectedError: The time range is invalid, a quota is exhausted, or the tar is corrupt.
            OutcomeUnknownError: The reply was lost: check whether the segment exists, with the right CRC.
        """
        self._push(table, tar_path, {}, allow_refresh)

    def upload_uri(self, table: str, uri: str, *, allow_refresh: bool = True) -> None:
        """Let the controller fetch a segment's tar.gz and store it; raises what :meth:`upload_tar` raises.

        Args:
            table: Table.
            uri: Address with a scheme that the controller can fetch (never ``file``).
            allow_refresh: Replace a segment of the same name at once.
        """
        if uri.lower().startswith("file:"):
            raise ConfigError(
                f"the controller cannot fetch from a file: address: {uri}",
                expected="an address in a deep store, or an http(s) address",
                remedy="push the tar itself, or its metadata",
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
        """Push a segment whose tar.gz is already in place; raises what :meth:`upload_tar` raises.

        Args:
            table: Table.
            metadata_tar: A tar.gz with ``creation.meta`` and ``metadata.properties`` in a directory.
            download_uri: Where the segment's tar.gz is.
            copy_to_deep_store: Let the controller copy it to its own folder in the deep store; both must have
                the same scheme. False: servers always download from ``download_uri``.
            allow_refresh: Replace a segment of the same name at once.
        """
        headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": download_uri}
        if copy_to_deep_store:
            self._capabilities().require(Capability.COPY_TO_DEEP_STORE)
            headers["COPY_SEGMENT_TO_DEEP_STORE"] = "true"
        self._push(table, metadata_tar, headers, allow_refresh)

    def push_batch(self, table: str, batch_tar: Path) -> None:
        """Push segments whose tars are in the deep store; the controller copies them to its own folder in it.

        Args:
            table: Table.
            batch_tar: What :func:`controller_client.segment_tar.writer.write_batch_tar` has written.

        Raises:
            UnsupportedError: The version takes no batches.
            NotFoundError: There is no such table.
            RejectedError: As for :meth:`upload_tar`, for one of the segments; others may have been pushed.
            OutcomeUnknownError: The reply was lost: check which of the segments exist, with the right CRC.
        """
        self._capabilities().require(Capability.PUSH_IN_BATCHES)
        headers = {"UPLOAD_TYPE": "METADATA", "COPY_SEGMENT_TO_DEEP_STORE": "true"}
        self._push(table, batch_tar, headers, allow_refresh=True, path="/segments/batchUpload")

    def download(self, table: str, segment: str, path: Path) -> int:
        """Write a segment's tar.gz from the controller's deep store to a file.

        Returns:
            Bytes written.

        Raises:
            NotFoundError: The deep store does not have it (segments pushed by metadata may be elsewhere).
        """
        # The controller's folders use raw table names.
        raw = TableName(table).raw
        with path.open("wb") as target:
            return self._transport.download(path_of("segments", raw, segment), target)

    def wait_online(self, table: str, names: Iterable[str], timeout_s: float) -> None:
        """Wait until each segment is in its ideal state on each server.

        Args:
            table: Table.
            names: Segments.
            timeout_s: Seconds until the last check.

        Raises:
            WaitTimeoutError: The error lists segments and their states; raised early if a server keeps a
                segment in ERROR, which does not resolve by itself.
        """
        segments = sorted(set(names))
        error_since: float | None = None
        clock = self._transport.clock

        def missing() -> str | None:
            nonlocal error_since
            faults = self.unloaded(table, segments)
            if not faults:
                return None
            count = f"{len({fault.segment for fault in faults})} of {len(segments)} segments"
            if any(fault.in_error for fault in faults):
                error_since = clock.monotonic() if error_since is None else error_since
                if clock.monotonic() - error_since >= _ERROR_GRACE_S:
                    raise WaitTimeoutError(
                        f"{count} of {table} do not load: {first_few(faults)}",
                        expected="the states of the ideal state",
                        remedy="check in the server's log whether it can read the segment's download address",
                    )
            else:
                error_since = None
            return f"{count} are not ready yet: {first_few(faults)}"

        wait_until(
            missing,
            what=f"{len(segments)} segments of {table} online",
            timeout_s=timeout_s,
            clock=clock,
            longest_poll_s=0.5,  # two reads per check; a reader waits for the result
            remedy="check that the servers are running, and their logs",
        )

    def unloaded(self, table: str, names: Iterable[str]) -> Sequence[Unloaded]:
        """Return the segments that differ from the ideal state, or are not in it.

        Args:
            table: Table.
            names: Segments.
        """
        return self.load_state(table, names).faults

    def load_state(self, table: str, names: Iterable[str]) -> LoadState:
        """Return the progress of servers in loading segments; arguments: see :meth:`unloaded`."""
        ideal = self._tables.ideal_state(table)
        return LoadState.of(names, ideal, self._tables.external_view(table))

    def reset(self, table: str, segment: str, *, server: str | None = None) -> None:
        """Make servers drop a segment and reload it, which resolves an ERROR state.

        Afterwards it may stay OFFLINE until Helix's controller is woken, which
        :class:`controller_client.helix.SegmentResets` does while it waits.

        Args:
            table: Table.
            segment: Its name.
            server: Only on this server (its name in Helix); None: on all that have it.

        Raises:
            NotFoundError: There is no such segment.
            RejectedError: A transition of the segment is already in progress.
            OutcomeUnknownError: The reply was lost.
        """
        path = path_of("segments", table, segment, "reset")
        self._transport.request("POST", path, params={"targetInstance": server})

    def load_errors(self, table: str) -> dict[tuple[str, str], str]:
        """Return the servers' reasons why segments did not load.

        Returns:
            (segment, server) -> reason, at most 300 characters.
        """
        name = TableName(table)
        raw, table_type = name.raw, name.type
        return self._transport.get_value(
            path_of("debug", "tables", raw), list, _load_errors, params={"type": table_type}
        )

    def wait_gone(self, table: str, names: Iterable[str], timeout_s: float) -> None:
        """Wait until the segments are gone from ideal state, external view and property store.

        The property store comes last: the controller deletes a segment's metadata a few seconds after the
        servers have dropped it, and until then its name is taken.

        Raises:
            WaitTimeoutError: The error lists the remaining segments.
        """
        segments = set(names)

        def missing() -> str | None:
            ideal = self._tables.ideal_state(table)
            seen = self._tables.external_view(table)
            left = sorted(segments & (ideal.keys() | seen.keys()))
            if not left:
                left = sorted(segments & self._recorded(table))
            return None if not left else f"{len(left)} of {len(segments)} still exist: {first_few(left)}"

        wait_until(
            missing,
            what=f"{len(segments)} segments of {table} to be gone",
            timeout_s=timeout_s,
            clock=self._transport.clock,
            remedy="delete them again",
        )

    def _recorded(self, table: str) -> set[str]:
        """Return the segments in the property store, including those no longer in the ideal state."""
        if not self._capabilities().has(Capability.ALL_SEGMENT_RECORDS):
            return set(self.list(table, exclude_replaced=False))  # this list comes from the property store
        path = path_of("segments", table, "zkmetadata")
        return set(self._transport.get_json(path, dict, params={"type": TableName(table).type}))

    def _push(
        self,
        table: str,
        tar_path: Path,
        headers: dict[str, str],
        allow_refresh: bool,
        path: str = "/v2/segments",
    ) -> None:
        with tar_path.open("rb") as tar:
            self._transport.request(
                "POST",
                path,
                params=self._push_params(table, allow_refresh),
                file=(tar_path.name, tar),
                headers=headers,
                read_timeout_s=_PUSH_TIMEOUT_S,
            )

    @staticmethod
    def _push_params(table: str, allow_refresh: bool) -> dict[str, str | None]:
        name = TableName(table)
        return {"tableName": name.raw, "tableType": name.type, "allowRefresh": str(allow_refresh).lower()}


def _by_type(content: bytes) -> dict[str, Any]:
    """Parse a list of objects with the names of a type each."""
    return {table_type: names for group in json.loads(content) for table_type, names in group.items()}


def _reason(error_info: dict[str, str | None]) -> str | None:
    """Return the exception and its last cause from a Java stack trace; None if there is no error."""
    lines = (error_info.get("stackTrace") or "").splitlines()
    if not lines:
        return (error_info.get("errorMessage") or "")[:_LONGEST_REASON] or None
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([lines[0], *causes[-1:]])[:_LONGEST_REASON]


def _load_errors(answer: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {
        (info["segmentName"], server): reason
        for table in answer
        for info in table.get("segmentDebugInfos") or ()
        for server, state in (info.get("serverState") or {}).items()
        if (reason := _reason((state or {}).get("errorInfo") or {}))
    }
