"""Sends recorded responses of Pinot over HTTP; runs as a child process.

Arguments: a folder with the responses of 1,000 and of 1,000,000 rows, a port on the loopback interface.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER, PORT = Path(sys.argv[1]), int(sys.argv[2])
RESPONSES = {limit: (FOLDER / f"{limit}.json").read_bytes() for limit in ("1000", "1000000")}


class Handler(BaseHTTPRequestHandler):
    """Answers as a broker does; the LIMIT at the end of the query selects the response."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Send a recorded response."""
        query = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        content = RESPONSES["1000000" if "limit 1000000" in query else "1000"]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        # The server handles one connection at a time: a kept-alive one would block the next.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        """Report that the server is ready."""
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"1\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
