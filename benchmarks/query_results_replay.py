"""Sends answers of Pinot that were recorded before, over HTTP; a child process.

Arguments: a folder with the answers of 1,000 and of 1,000,000 rows, a port of loopback.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER, PORT = Path(sys.argv[1]), int(sys.argv[2])
ANSWERS = {limit: (FOLDER / f"{limit}.json").read_bytes() for limit in ("1000", "1000000")}


class Handler(BaseHTTPRequestHandler):
    """Answers as a broker does, by the LIMIT at the query's end."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Send an answer."""
        asked = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        content = ANSWERS["1000000" if "limit 1000000" in asked else "1000"]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        # One connection at a time: one that is kept alive would hold up the next.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        """Say that the answers are there."""
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"1\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
