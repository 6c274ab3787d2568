"""A gRPC server on loopback that sends scripted answers, and aborts where the script says so.

It simulates a bad connection, never the meaning of Pinot's answers, which is tested with a real Pinot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from spark_connectors.read.plan import ServerAddress
from spark_connectors.read.server_query import METHOD, messages

Step = bytes | grpc.StatusCode
_SERVICE, _, _NAME = METHOD.strip("/").partition("/")


@dataclass
class Line:
    """A server and the requests that it received."""

    address: ServerAddress
    requests: list[Any] = field(default_factory=list)


@contextmanager
def line(
    name: str,
    *steps: Step,
    tls: tuple[bytes, bytes] | None = None,
    compression: grpc.Compression = grpc.Compression.NoCompression,
) -> Iterator[Line]:
    """Answer each request with these payloads; a status code ends the answer.

    Args:
        name: The server's name.
        steps: Payloads and status codes.
        tls: Its key and certificate (PEM); None: no TLS.
        compression: That of its answers.
    """
    server = grpc.server(futures.ThreadPoolExecutor(2), compression=compression)
    if tls is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([tls]))
    made = Line(ServerAddress(name, "127.0.0.1", port, 0))

    def submit(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        made.requests.append(request)
        for step in steps:
            if isinstance(step, bytes):
                yield messages()[1](payload=step)
            else:
                context.abort(step, "as the test says")

    handler: Any = grpc.unary_stream_rpc_method_handler(
        submit,
        request_deserializer=messages()[0].FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_NAME: handler}),))
    server.start()
    try:
        yield made
    finally:
        server.stop(None).wait()


def numbers(*values: int) -> bytes:
    """Return a DataTable of version 3 with one INT column."""
    names = b"".join(struct.pack(">i", len(text)) + text for text in (b"n", b"INT"))
    schema = struct.pack(">i", 1) + names
    data = struct.pack(f">{len(values)}i", *values)
    return _table(len(values), schema=schema, data=data)


def metadata(told: Mapping[int, int], problems: Mapping[int, str] | None = None) -> bytes:
    """Return a DataTable of version 3 without rows.

    Args:
        told: Keys' ids (of ints, but 2, which is a long) and numbers.
        problems: Codes and texts.
    """
    entries = [struct.pack(">iq" if key == 2 else ">ii", key, number) for key, number in told.items()]
    body = struct.pack(">i", len(entries)) + b"".join(entries)
    texts = [struct.pack(">ii", code, len(text)) + text.encode() for code, text in (problems or {}).items()]
    return _table(0, exceptions=struct.pack(">i", len(texts)) + b"".join(texts), told=body)


def _table(
    rows: int, *, exceptions: bytes = b"", schema: bytes = b"", data: bytes = b"", told: bytes = b""
) -> bytes:
    header, at = [3, rows, 1], 13 * 4
    for section in (exceptions, b"", schema, data, b""):
        header += [at, len(section)]
        at += len(section)
    return b"".join(
        [struct.pack(">13i", *header), exceptions, schema, data, struct.pack(">i", len(told)), told]
    )
