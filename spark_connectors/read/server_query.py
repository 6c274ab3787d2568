"""Queries a server over gRPC (``PinotQueryServer.Submit`` in Pinot's server.proto).

The two messages, with four and two fields, are described in code, since generated files would depend on one
version of protobuf.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from controller_client.broker.client import without_java
from controller_client.common.credential_rules import may_go_beside
from controller_client.common.parsing import whole_number
from controller_client.common.redaction import mask_text
from controller_client.common.text import counted_text
from controller_client.config import Auth, Tls, max_reply_bytes
from controller_client.errors import AuthError, NotAppliedError, PartialResultError, QueryError
from spark_connectors.options import ReadOptions
from spark_connectors.read.data_table import DataTable, decode
from spark_connectors.read.plan import ServerAddress

__all__ = ["METHOD", "ServerAnswer", "ServerConnection", "ServerQuery", "messages"]

METHOD = "/org.apache.pinot.common.proto.PinotQueryServer/Submit"
_IN_MEMORY_BYTES = 64 * 2**20
_LENGTH_BYTES = 8
_EXTRA_TIMEOUT_S = 30.0
_LONGEST_TEXT = 500
# From org.apache.pinot.common.exception.QueryException: the server is shutting down or too busy, lacks the
# table or segments, or took too long. Another server may succeed.
_LACKING_CODES = frozenset({210, 211, 215, 230, 235, 240, 250})
_GREATEST_INT = 2**31 - 1
_NO_COMPRESSION = 1
"""A bit set. gRPC 1.60 unpacks a message before it looks at its size; Pinot's servers do not compress."""


@dataclass(frozen=True)
class ServerQuery:
    """Settings for queries of servers.

    Attributes:
        timeout_ms: Time-out for a query in milliseconds.
        auth: Credentials sent as metadata, for servers with access control; None: none, e.g. because servers
            are reached without TLS, but the controllers with it.
        tls: TLS settings; None: plain text.
        options: Pinot query options.
        work_dir: Folder for large answers; None: the system's temporary folder.
        max_reply_bytes: Maximum size of a part of an answer, decompressed; the parts go to disk.
    """

    timeout_ms: int
    auth: Auth | None
    tls: Tls | None
    options: tuple[tuple[str, str], ...]
    work_dir: str | None
    max_reply_bytes: int = field(default_factory=max_reply_bytes)

    @classmethod
    def of(cls, options: ReadOptions) -> ServerQuery:
        """Take the settings from the options of a read."""
        config = options.controller_config()
        tls = None if options.grpc_plain_text else config.tls
        # Credentials meant for TLS must never go to an address without it.
        auth = config.auth if may_go_beside(config.scheme, is_encrypted=tls is not None) else None
        return cls(
            options.server_timeout_ms,
            auth,
            tls,
            options.query_options,
            options.work_dir,
            config.max_reply_bytes,
        )

    @contextmanager
    def connect(self, server: ServerAddress) -> Iterator[ServerConnection]:
        """Open a connection for several queries."""
        with self._channel(server) as channel:
            yield ServerConnection(self, server, channel)

    def _channel(self, server: ServerAddress) -> grpc.Channel:
        target, tls = f"{server.host}:{server.port}", self.tls
        options = [
            ("grpc.max_receive_message_length", min(self.max_reply_bytes, _GREATEST_INT)),
            ("grpc.compression_enabled_algorithms_bitset", _NO_COMPRESSION),
            ("grpc.enable_http_proxy", 0),
        ]
        if tls is None:
            return grpc.insecure_channel(target, options=options)
        credentials = grpc.ssl_channel_credentials(
            root_certificates=_file(tls.ca_file),
            private_key=_file(tls.client_key_file or tls.client_cert_file),
            certificate_chain=_file(tls.client_cert_file),
        )
        return grpc.secure_channel(target, credentials, options=options)


class ServerConnection:
    """A connection to a server, made by :meth:`ServerQuery.connect`."""

    def __init__(self, query: ServerQuery, server: ServerAddress, channel: grpc.Channel) -> None:
        self._query = query
        self._server = server
        self._submit: Any = channel.unary_stream(
            METHOD,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=messages()[1].FromString,
        )

    def ask(self, sql: str, segments: Sequence[str], *, limit: int | None = None) -> ServerAnswer:
        """Query segments; return once the complete answer was received and checked.

        Args:
            sql: A SELECT without aggregation, with a LIMIT and a table name with type.
            segments: Segments of that table.
            limit: The query's limit, if it may exclude rows.

        Raises:
            NotAppliedError: The server is unreachable, dropped the connection or took too long.
            AuthError: The server rejects the credentials.
            PartialResultError: The server lacks segments.
            QueryError: The server rejects the query.
        """
        answer = ServerAnswer(self._query.work_dir)
        timeout_s = self._query.timeout_ms / 1000 + _EXTRA_TIMEOUT_S
        try:
            for response in self._submit(self._request(sql, segments), timeout=timeout_s):
                answer.add(response.payload)
            answer.check(self._server, segments, limit)
        except grpc.RpcError as error:
            answer.close()
            raise _translated(error, self._server) from error
        except BaseException:
            answer.close()
            raise
        return answer

    def _request(self, sql: str, segments: Sequence[str]) -> Any:
        query = self._query
        metadata = {"enableStreaming": "true", "payloadType": "sql", "brokerId": "spark", "requestId": "0"}
        if query.auth is not None:
            metadata["Authorization"] = query.auth.header()
        settings = {"timeoutMs": str(query.timeout_ms), **dict(query.options)}
        prefix = "".join(f"SET {name}={_literal(value)}; " for name, value in settings.items())
        return messages()[0](metadata=metadata, sql=prefix + sql, segments=segments)


class ServerAnswer:
    """A server's complete answer, stored on disk if it is large; can be read once."""

    def __init__(self, work_dir: str | None) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - close() does
            _IN_MEMORY_BYTES, dir=work_dir
        )
        self._last = DataTable(0, ())
        self._problems: dict[int, str] = {}
        self.rows = 0

    @property
    def consuming(self) -> int:
        """Number of segments that were still consuming."""
        return self._last.metadata.get("numConsumingSegmentsQueried", 0)

    def add(self, payload: bytes) -> None:
        """Store a part; the last part is the metadata."""
        rows = int.from_bytes(payload[4:8], "big")
        if rows:
            self.rows += rows
            self._file.write(len(payload).to_bytes(_LENGTH_BYTES, "big"))
            self._file.write(payload)
        else:
            self._last = decode(payload)
            self._problems.update(self._last.exceptions)

    def check(self, server: ServerAddress, segments: Sequence[str], limit: int | None) -> None:
        """Check the answer against the request; raises errors as :meth:`ServerConnection.ask` does."""
        metadata = self._last.metadata
        if self._problems:
            text = "; ".join(f"{code} {_shown(message)}" for code, message in self._problems.items())
            if _LACKING_CODES.issuperset(self._problems):
                raise PartialResultError(f"{server}: {text}", where=str(server))
            raise QueryError(text, where=str(server), remedy="check 'filter' and 'columns'")
        _check_columns(metadata.get("numSegmentsPrunedByInvalid", 0), str(server))
        queried = metadata.get("numSegmentsQueried", -1)
        seen = metadata.get("numSegmentsProcessed", 0) + metadata.get("numSegmentsPrunedByServer", 0)
        enough = limit is not None and self.rows >= limit
        whole = seen >= queried and self.rows >= metadata.get("numDocsScanned", 0)
        if queried != len(segments) or not (enough or whole):
            raise PartialResultError(
                f"{server} answered for {min(queried, seen)} of {len(segments)} segments,"
                f" with {self.rows} of {metadata.get('numDocsScanned', 'unknown')} rows",
                where=str(server),
            )

    def tables(self) -> Iterator[DataTable]:
        """Decode the answer part by part."""
        with self._file as file:
            file.seek(0)
            while head := file.read(_LENGTH_BYTES):
                yield decode(file.read(int.from_bytes(head, "big")))

    def close(self) -> None:
        """Discard the stored parts."""
        self._file.close()


def _check_columns(invalid_segments: int, where: str) -> None:
    """Reject an answer without the segments that lack a column, which Pinot does not treat as an error.

    Raises:
        QueryError: The answer lacks such segments.
    """
    if invalid_segments:
        raise QueryError(
            f"the server skipped {counted_text(invalid_segments, 'segment')} for lack of a selected column",
            expected="segments with all columns of the schema",
            where=where,
            remedy="reload the table's segments, do not select the column, or set 'readFrom' to segments",
        )


def _shown(message: str) -> str:
    return mask_text(without_java(message))[:_LONGEST_TEXT]


def _literal(value: str) -> str:
    return value if whole_number(value) is not None else f"'{value}'"


def _file(path: str | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:  # noqa: PTH123 - one line
        return file.read()


def _translated(error: grpc.RpcError, server: ServerAddress) -> NotAppliedError:
    # The error of a call is also the call itself, although its type does not show that.
    call: Any = error
    code: grpc.StatusCode = call.code()
    text = f"{server} failed: {code.name} {(call.details() or '')[:_LONGEST_TEXT]}".rstrip()
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return AuthError(
            text,
            where=str(server),
            remedy="check 'username' and 'password', or 'authToken'; if the controllers use https, servers"
            " get them only without 'grpcUsePlainText'",
        )
    remedy = None
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        remedy = "if its answer is too long, select fewer columns, or set PINOT_MAX_REPLY_BYTES"
    return NotAppliedError(text, where=str(server), remedy=remedy)


@functools.cache
def messages() -> tuple[Any, Any]:
    """Create the classes ServerRequest and ServerResponse."""
    file = descriptor_pb2.FileDescriptorProto(
        name="pinot_plugins/server.proto", package="org.apache.pinot.common.proto", syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in {
        "ServerRequest": (
            ("sql", 2, kinds.TYPE_STRING, kinds.LABEL_OPTIONAL),
            ("segments", 3, kinds.TYPE_STRING, kinds.LABEL_REPEATED),
            ("payload", 4, kinds.TYPE_BYTES, kinds.LABEL_OPTIONAL),
        ),
        "ServerResponse": (("payload", 2, kinds.TYPE_BYTES, kinds.LABEL_OPTIONAL),),
    }.items():
        message = file.message_type.add(name=name)
        entry = message.nested_type.add(name="MetadataEntry")
        entry.options.map_entry = True
        for number, part in enumerate(("key", "value"), start=1):
            entry.field.add(name=part, number=number, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
        message.field.add(
            name="metadata",
            number=1,
            type=kinds.TYPE_MESSAGE,
            label=kinds.LABEL_REPEATED,
            type_name=f".{file.package}.{name}.MetadataEntry",
        )
        for field_name, number, kind, label in fields:
            message.field.add(name=field_name, number=number, type=kind, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    request, response = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{name}"))
        for name in ("ServerRequest", "ServerResponse")
    )
    return request, response
