"""Serves ClickHouse's answers in its Native format over HTTP, from a Parquet file, by chdb; a child process.

Arguments: the file, a port of loopback. The answer of the measured query is made by ClickHouse's engine once
and sent as it is, so a client that decodes it does what it does with a server, and no server takes its cores.
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
    """Run a statement, once."""
    text = sql
    if "from results" in sql:
        # Pinot's columns hold no null here, so ClickHouse's are none that could.
        text = sql.replace("from results", f"from file('{FILE}', 'Parquet')")
        text += " settings schema_inference_make_columns_nullable = 0"
    content: bytes = chdb.query(text, form).bytes()
    return content


class Handler(BaseHTTPRequestHandler):
    """Answers as ClickHouse's HTTP interface does."""

    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if "client_protocol_version" in asked:
            # chdb writes the format of no protocol version: the client goes on without one.
            self._send(500, b"no protocol version")
            return
        sql = asked.get("query") or body
        form = asked.get("default_format", "TabSeparated")
        head, found, tail = sql.rpartition("FORMAT ")
        if found and tail.strip().isalpha():
            sql, form = head, tail.strip()
        self._send(200, answer(sql.strip(), form) if sql.strip() else b"Ok.\n")

    do_GET = do_POST = _serve  # noqa: N815 - names of http.server

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        # One connection at a time: one that is kept alive would hold up the next.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
