"""Containers of this project's image, with the arguments that Pinot's Helm chart passes to a role."""

from __future__ import annotations

import io
import tarfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import requests
from docker.models.containers import Container

from tests.support import engine
from tests.support.cluster import PinotCluster
from tests.support.java_options import QUICK_START
from tests.support.plugins_image import plugins_image
from tests.support.shared_session import shared_slot
from tests.support.wait import wait_for

FOLDER = "/srv/test"
"""Where a container's files are."""


@dataclass
class RoleContainer:
    """A container on the host's network, started when it is created.

    Args:
        arguments: The arguments of the image's entry point.
        environment: Variables in addition to the image's.
        files: File contents by path below :data:`FOLDER`, which the image's user can read.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._container: Container = engine.client().containers.create(
            plugins_image(),
            list(self.arguments),
            name=f"pinot-plugins-test-image-{uuid.uuid4().hex[:8]}",
            labels=engine.labels(shared_slot().number),
            network_mode="host",
            environment=dict(self.environment),
            # As in the values for the chart.
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
        )
        try:
            self._put()
            self._container.start()
        except BaseException:
            self.remove()
            raise

    @classmethod
    def of_role(
        cls,
        pinot: PinotCluster,
        start_command: str,
        properties: Mapping[str, object],
        *,
        java_opts: str = "",
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> RoleContainer:
        """Start a role as the chart does: cluster and ZooKeeper as arguments, the rest in a file."""
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        return cls(
            (
                start_command,
                *("-clusterName", pinot.cluster_name),
                *("-zkAddress", pinot.zookeeper_address),
                *("-configFileName", f"{FOLDER}/role.conf"),
            ),
            {"JAVA_OPTS": f"-Xmx384m {QUICK_START} {java_opts}", **(environment or {})},
            {"role.conf": text.encode(), **(files or {})},
        )

    def logs(self) -> str:
        """Return its output so far."""
        return self._container.logs().decode(errors="replace")

    def run(self, program: str) -> str:
        """Run a Python program in it as its user; return the output."""
        code, output = self._container.exec_run(["python", "-c", program])
        assert isinstance(output, bytes)
        assert code == 0, output
        return output.decode()

    def wait_healthy(self, url: str) -> None:
        """Wait until a probe's URL answers 200."""

        def healthy() -> bool:
            self._container.reload()
            assert self._container.status == "running", self.logs()
            return requests.get(url, timeout=5).ok

        wait_for(healthy, f"{self.arguments[0]} at {url}", timeout_s=300)

    def stop(self) -> int:
        """Send SIGTERM, and SIGKILL two minutes later, as Kubernetes does; return the exit code."""
        self._container.stop(timeout=120)
        return int(self._container.wait()["StatusCode"])

    def remove(self) -> None:
        """Remove it, even if it is running."""
        self._container.remove(force=True, v=True)

    def _put(self) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, content in self.files.items():
                entry = tarfile.TarInfo(str(Path(FOLDER.lstrip("/"), name)))
                entry.size, entry.mode = len(content), 0o644
                tar.addfile(entry, io.BytesIO(content))
        assert self._container.put_archive("/", archive.getvalue())
