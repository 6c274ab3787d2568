"""A schema registry that supports the requests of Confluent's own client."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["SchemaRegistry", "schema_registry"]

_TYPE = "application/vnd.schemaregistry.v1+json"
_FIRST_ID = 7
_NO_SCHEMA, _NO_SUBJECT = 40403, 40401


@dataclass
class SchemaRegistry:
    """The registry's content.

    Attributes:
        url: Its URL.
        login: ``user:password`` that it requires.
        schemas: Schemas with the ids 7, 8, ...
        subjects: Schema ids of each subject, oldest first.
        asked: Paths that were requested.
        reports_subjects: Whether it supports requests for the subjects of a schema.
    """

    login: str
    url: str = ""
    schemas: list[str] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    reports_subjects: bool = True

    def register(self, subject: str, schema: str) -> int:
        """Return the id of a schema; a new schema gets a new id."""
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + _FIRST_ID
        known = self.subjects.setdefault(subject, [])
        if number not in known:
            known.append(number)
        return number

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Answer a request."""
        self.asked.append(path)
        parts = path.partition("?")[0].strip("/").split("/")
        match method, parts:
            case "GET", ["schemas", "ids", number]:
                at = int(number) - _FIRST_ID
                if 0 <= at < len(self.schemas):
                    return 200, {"schema": self.schemas[at]}
                return 404, {"error_code": _NO_SCHEMA, "message": f"Schema {number} not found"}
            case "GET", ["schemas", "ids", number, "versions"] if self.reports_subjects:
                using = {name: ids for name, ids in self.subjects.items() if int(number) in ids}
                versions = {name: ids.index(int(number)) + 1 for name, ids in using.items()}
                return 200, [{"subject": name, "version": version} for name, version in versions.items()]
            case "POST", ["subjects", subject, "versions"]:
                return 200, {"id": self.register(subject, body["schema"])}
            case "POST", ["subjects", subject]:
                if subject in self.subjects and body["schema"] in self.schemas:
                    known = self.register(subject, body["schema"])
                    version = self.subjects[subject].index(known) + 1
                    return 200, {**body, "subject": subject, "id": known, "version": version}
                return 404, {"error_code": _NO_SUBJECT, "message": f"Subject '{subject}' not found."}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}


@contextmanager
def schema_registry(login: str) -> Iterator[SchemaRegistry]:
    """Run one on this machine."""
    registry = SchemaRegistry(login)
    wanted = "Basic " + base64.b64encode(login.encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its base's name
            """Log nothing."""

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            document: Any
            if self.headers.get("Authorization") == wanted:
                status, document = registry.answer(self.command, self.path, body)
            else:
                status, document = 401, {"error_code": 401, "message": "Unauthorized"}
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", _TYPE)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
