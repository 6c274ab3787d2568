"""Fetches a jar from a Maven repository."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import tenacity

from controller_client.errors import DataError, SetupError
from jvm_bridge.jars.pins import Pin

__all__ = ["MIRROR_VARIABLE", "Repository"]

logger = logging.getLogger(__name__)

MIRROR_VARIABLE = "PINOT_PLUGINS_MAVEN_REPOSITORY"

_ATTEMPTS = 3
_TIMEOUT_S = 30
_MAX_BYTES = 1024**3
_HEADERS = {"Accept-Encoding": "identity"}  # the bytes that the pin is of


@dataclass(frozen=True, repr=False)
class Repository:
    """A repository of jars.

    Args:
        mirror: Base URL of a Maven repository (``http:``, ``https:`` or ``file:``), or a folder; None for
            Maven Central. It may contain credentials, so messages use `shown`.
    """

    mirror: str | None = None

    @property
    def shown(self) -> str:
        """The repository for messages, without credentials."""
        if self.mirror is None:
            return "Maven Central"
        parts = urlsplit(self.mirror)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{host}{port}{parts.path}" if parts.scheme else self.mirror

    def fetch(self, pin: Pin, folder: Path) -> Path:
        """Fetch the jar into `folder` (empty, of the caller) without verifying it, and return its path there.

        Raises:
            SetupError: The repository does not answer, does not have the jar, or sends more than 1 GiB.
        """
        # Imported here, as requests and jgo are slow to import and a complete cache needs neither.
        import requests

        from controller_client.common.http_session import HttpSession
        from controller_client.rest.bodies import write_body

        parts = urlsplit(self.mirror or "")
        if self.mirror is not None and parts.scheme in {"", "file"}:
            return _copy(Path(parts.path), pin, folder)
        url = f"{(self.mirror or _central()).rstrip('/')}/{pin.path}"
        target = folder / pin.path.name
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=tenacity.wait_random_exponential(0.2, max=3),
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )

        def attempt() -> None:
            with (
                HttpSession() as session,
                session.get(url, headers=_HEADERS, stream=True, timeout=_TIMEOUT_S) as response,
                target.open("wb") as file,
            ):
                response.raise_for_status()
                write_body(response, file, pin.coordinate, _MAX_BYTES)

        try:
            retrying(attempt)
        except (requests.RequestException, DataError) as error:
            raise SetupError(
                f"{pin.coordinate} cannot be fetched: {_reason(error)}",
                where=self.shown,
                remedy=f"set {MIRROR_VARIABLE} to a repository that this machine can reach, or PINOT_HOME to "
                "a Pinot distribution; jars that were already fetched are kept",
            ) from None  # the cause's text may contain the mirror's credentials
        return target


def _central() -> str:
    from jgo.maven import MavenContext

    return str(MavenContext().remote_repos["central"])


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    return None if response is None else int(response.status_code)


def _may_pass(error: BaseException) -> bool:
    """Return whether the next GET may succeed: the connection broke, or the repository is busy."""
    from requests import RequestException

    status = _status(error)
    busy = (
        status is None or status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
    return isinstance(error, RequestException) and busy


def _reason(error: BaseException) -> str:
    if isinstance(error, DataError):
        return error.message
    status = _status(error)
    if status == HTTPStatus.NOT_FOUND:
        return "the repository does not have it"
    return type(error).__name__ if status is None else f"the repository returned status {status}"


def _copy(repository: Path, pin: Pin, folder: Path) -> Path:
    source, target = repository / pin.path, folder / pin.path.name
    if not source.is_file():
        raise SetupError(
            f"{pin.coordinate} is not in the repository",
            where=str(source),
            remedy=f"set {MIRROR_VARIABLE} to a folder with the layout of a Maven repository",
        )
    target.write_bytes(source.read_bytes())
    return target
