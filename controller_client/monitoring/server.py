"""The HTTP server of a process, for Prometheus and probes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from prometheus_client import make_wsgi_app

from controller_client.common.closing import Closing
from controller_client.errors import SetupError
from controller_client.monitoring.http_server import ProbeServer
from controller_client.monitoring.process import Monitoring

__all__ = ["MonitoringServer"]

_Page = tuple[str, dict[str, Any]]


class MonitoringServer(Closing):
    """Serves ``GET /metrics``, ``/health`` and ``/ready`` in threads of its own; a context manager.

    The latter two answer with JSON: 200 if all is well, otherwise 503 with the reasons.

    Args:
        host: Address to listen on.
        port: Port; 0: any free port.
        monitoring: The monitoring of the process.

    Raises:
        SetupError: The server cannot listen there.
    """

    def __init__(self, host: str, port: int, monitoring: Monitoring) -> None:
        try:
            self._server = ProbeServer(host, port, _pages(monitoring))
        except OSError as error:
            raise SetupError(
                f"metrics cannot be served at {host}:{port}: {error.strerror}",
                remedy="choose another port with --metrics-port, and check the address in --metrics-host",
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="monitoring-server", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _pages(monitoring: Monitoring) -> Callable[..., Any]:
    """Create the WSGI application of the server."""
    metrics = make_wsgi_app(monitoring.registry)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        path = environ.get("PATH_INFO")
        if path == "/metrics":
            return metrics(environ, start_response)
        status, document = _page(monitoring, path)
        body = json.dumps(document).encode() + b"\n"
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def _page(monitoring: Monitoring, path: str | None) -> _Page:
    if path == "/health":
        return _verdict("healthy", monitoring.health.troubles())
    if path == "/ready":
        return _verdict("ready", monitoring.health.missing())
    return "404 Not Found", {"pages": ["/metrics", "/health", "/ready"]}


def _verdict(word: str, reasons: list[str]) -> _Page:
    status = "503 Service Unavailable" if reasons else "200 OK"
    return status, {word: not reasons, "reasons": reasons}
