"""The backend for machines with a container engine: one container per service, on the host's network."""

from __future__ import annotations

import io
import os
import tarfile

from docker.models.containers import Container
from testcontainers.core.container import DockerContainer

from tests.support import engine, images
from tests.support.service import HOME, RunningService, Service

_HOME_IN_CONTAINER = "/srv/service"


class ContainerBackend:
    """Starts services as containers; each has the label of this session's owner."""

    name = "containers"

    def __init__(self) -> None:
        self._launched: list[_RunningContainer] = []

    def launch(self, service: Service) -> RunningService:
        container = DockerContainer(images.image_of(service.program))
        container.with_name(f"pinot-plugins-test-{os.getpid()}-{service.name}")
        container.with_command([_at_home(argument) for argument in service.arguments])
        # Roles and tests reach the roles at loopback addresses; no port is mapped.
        container.with_kwargs(network_mode="host", labels={engine.OWNER_LABEL: engine.owner()})
        for name, value in service.environment.items():
            container.with_env(name, _at_home(value))
        for name, text in service.files.items():
            container.with_copy_into_container(_at_home(text).encode(), f"{_HOME_IN_CONTAINER}/{name}")
        for folder in service.shared_folders:
            container.with_volume_mapping(folder, str(folder), "rw")
        running = _RunningContainer(service, container)
        self._launched.append(running)
        container.start()
        return running

    def close(self) -> None:
        for running in reversed(self._launched):
            running.remove()


class _RunningContainer:
    def __init__(self, service: Service, container: DockerContainer) -> None:
        self.service = service
        self._testcontainer = container
        self._removed = False

    @property
    def _container(self) -> Container:
        container: Container = self._testcontainer.get_wrapped_container()
        return container

    def state(self) -> str:
        container = self._container
        container.reload()
        if container.status != "exited":
            return str(container.status)
        return f"ended with {container.attrs['State']['ExitCode']}"

    def kill(self) -> None:
        self._container.kill("SIGKILL")
        self._container.wait()

    def start(self) -> None:
        if self.state() == "paused":
            self._container.unpause()
        else:
            self._container.start()

    def pause(self) -> None:
        self._container.pause()

    def logs(self, lines: int) -> str:
        return self._container.logs(tail=lines).decode(errors="replace")

    def put_file(self, path: str, content: bytes) -> None:
        folder, _, name = f"{_HOME_IN_CONTAINER}/{path}".rpartition("/")
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o666  # the role may run as another user
            tar.addfile(entry, io.BytesIO(content))
        assert self._container.put_archive(folder, archive.getvalue())

    def remove(self) -> None:
        if not self._removed:
            self._removed = True
            self._testcontainer.stop()


def _at_home(text: str) -> str:
    return text.replace(HOME, _HOME_IN_CONTAINER)
