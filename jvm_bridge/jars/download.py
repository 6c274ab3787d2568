"""Fetches a jar from a Maven repository, with the library jgo."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import tenacity

from controller_client.errors import SetupError
from jvm_bridge.jars.pins import Pin

__all__ = ["MIRROR_VARIABLE", "Repository"]

logger = logging.getLogger(__name__)

MIRROR_VARIABLE = "PINOT_PLUGINS_MAVEN_REPOSITORY"

_ATTEMPTS = 3
_TIMEOUT_S = 30


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
            SetupError: The repository does not answer or does not have the jar.
        """
        # Imported here, as requests and jgo are slow to import and a complete cache needs neither.
        from jgo.maven import MavenContext
        from requests import RequestException

        parts = urlsplit(self.mirror or "")
        if self.mirror is not None and parts.scheme in {"", "file"}:
            return _copy(Path(parts.path), pin, folder)
        context = MavenContext(
            repo_cache=folder,
            local_repos=[],  # not the user's: each jar is fetched and verified for this cache
            remote_repos=None if self.mirror is None else {"mirror": self.mirror.rstrip("/")},
            timeout=_TIMEOUT_S,
        )
        component = context.project(pin.group, pin.artifact).at_version(pin.version)
        # A GET may be retried; jgo raises RuntimeError for any response but 200, "not found" or "busy".
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=tenacity.wait_random_exponential(0.2, max=3),
            retry=tenacity.retry_if_exception_type((RequestException, RuntimeError)),
            before=lambda _: (folder / pin.path).unlink(missing_ok=True),  # jgo rejects an incomplete file
            reraise=True,
        )
        try:
            return Path(retrying(component.artifact(classifier=pin.classifier).resolve))
        except (RequestException, RuntimeError) as error:
            reason = (
                "the repository does not have it" if isinstance(error, RuntimeError) else type(error).__name__
            )
            raise SetupError(
                f"{pin.coordinate} cannot be fetched: {reason}",
                where=self.shown,
                remedy=f"Set {MIRROR_VARIABLE} to a repository that this machine can reach, or PINOT_HOME to "
                "a Pinot distribution. Jars that were already fetched are kept.",
            ) from None  # the cause's text may contain the mirror's credentials


def _copy(repository: Path, pin: Pin, folder: Path) -> Path:
    source, target = repository / pin.path, folder / pin.path.name
    if not source.is_file():
        raise SetupError(
            f"{pin.coordinate} is not in the repository",
            where=str(source),
            remedy=f"Set {MIRROR_VARIABLE} to a folder with the layout of a Maven repository.",
        )
    target.write_bytes(source.read_bytes())
    return target
