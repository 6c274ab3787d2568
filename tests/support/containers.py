"""The backend for machines with a container engine: one container per service, on the host's network."""

from __future__ import annotations

import io
import tarfile

import docker.errors
from docker.models.containers import Container

from tests.support import engine, images
from tests.support.file_lock import file_lock
from tests.support.service import HOME, RunningService, Service
from tests.support.slot import Slot

_HOME_IN_CONTAINER = "/srv/service"


class ContainerBackend:
    """Starts services as containers that outlive this process.

    Args:
        slot: The slot of their session.
    """

    name = "containers"

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def launch(self, service: Service) -> RunningService:
        name = f"pinot-plugins-test-{self._slot.number}-{service.name}"
        with file_lock(self._slot.services / f"{service.name}.lock"):
            try:
                running = _RunningContainer(service, engine.client().containers.get(name))
            except docker.errors.NotFound:
                running = _RunningContainer(service, self._create(service, name))
            if running.state() == "ended":
                running.start()
        return running

    def close(self) -> None:
        engine.remove_containers(self._slot.number)

    def _create(self, service: Service, name: str) -> Container:
        # Roles and tests reach the roles at loopback addresses; no port is mapped.
        container: Container = engine.client().containers.create(
            images.image_of(service.program),
            [_at_home(argument) for argument in service.arguments],
            name=name,
            labels=engine.labels(self._slot.number),
            network_mode="host",
            environment={variable: _at_home(value) for variable, value in service.environment.items()},
            volumes={str(folder): {"bind": str(folder), "mode": "rw"} for folder in service.shared_folders},
        )
        _put(container, {name: _at_home(text).encode() for name, text in service.files.items()})
        return container


class _RunningContainer:
    def __init__(self, service: Service, container: Container) -> None:
        self.service = service
        self._container = container

    def state(self) -> str:
        self._container.reload()
        return "ended" if self._container.status in ("created", "exited") else "running"

    def kill(self) -> None:
        self._container.kill("SIGKILL")
        self._container.wait()

    def start(self) -> None:
        self._container.start()

    def suspend(self) -> None:
        self._container.pause()

    def resume(self) -> None:
        self._container.unpause()

    def logs(self, lines: int) -> str:
        return self._container.logs(tail=lines).decode(errors="replace")

    def put_file(self, path: str, content: bytes) -> None:
        _put(self._container, {path: content})


def _put(container: Container, files: dict[str, bytes]) -> None:
    """Write files by path below a service's home; missing folders are created."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{_HOME_IN_CONTAINER}/{path}".lstrip("/"))
            entry.size = len(content)
            entry.mode = 0o666  # the role may run as another user
            tar.addfile(entry, io.BytesIO(content))
    assert container.put_archive("/", archive.getvalue())


def _at_home(text: str) -> str:
    return text.replace(HOME, _HOME_IN_CONTAINER)
