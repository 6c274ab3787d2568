"""Serves ClickHouse's Native format over HTTP from a Parquet file, with chdb; runs as a child process.

Arguments: the file, a port on the loopback interface. ClickHouse's engine runs the measured query once; its
response is then sent unchanged. So the client decodes what a real server sends, and no server competes for
its cores.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import chdb  # type: ignore[import-not-found]

FILE, PORT = sys.argv[1], int(sys.argv[2])


@lru_cache(maxsize=32)
def answer(sql: str, form: str) -> bytes:
    """Run a statement; each one is run only once."""
    text = sql
    if "from results" in sql:
        # Pinot's columns have no nulls here, so ClickHouse's are not nullable either.
        text = sql.replace("from results", f"from file('{FILE}', 'Parquet')")
        text += " settings schema_inference_make_columns_nullable = 0"
    content: bytes = chdb.query(text, form).bytes()
    return content


class Handler(BaseHTTPRequestHandler):
    """Answers as ClickHouse's HTTP interface does."""

    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        parameters = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if "client_protocol_version" in parameters:
            # chdb writes the format without a protocol version: after this error the client sends none.
            self._send(500, b"no protocol version")
            return
        sql = parameters.get("query") or body
        form = parameters.get("default_format", "TabSeparated")
        head, found, tail = sql.rpartition("FORMAT ")
        if found and tail.strip().isalpha():
            sql, form = head, tail.strip()
        self._send(200, answer(sql.strip(), form) if sql.strip() else b"Ok.\n")

    do_GET = do_POST = _serve  # noqa: N815 - names of http.server

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        # The server handles one connection at a time: a kept-alive one would block the next.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
