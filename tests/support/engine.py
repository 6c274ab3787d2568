"""The container engine: whether it runs, whether a registry answers, and leftovers of killed sessions."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus

# Ryuk's image needs a registry: `sweep` does its work. Read by testcontainers at its import.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")

import docker
import docker.errors
import psutil
import requests
from docker.models.containers import Container

OWNER_LABEL = "pinot-plugins.tests.owner"
_PING_TIMEOUT_S = 3
_REGISTRY_TIMEOUT_S = 6
_WORK_TIMEOUT_S = 600


@lru_cache(maxsize=1)
def why_no_engine() -> str | None:
    """Return why no container engine can be used, or None if one answers; checked once per process."""
    refusal = _socket_refusal()
    if refusal:
        return f"no container engine answers ({refusal})"
    try:
        asking = docker.from_env(timeout=_PING_TIMEOUT_S)
        try:
            system = asking.info().get("OSType")
        finally:
            asking.close()
    except (docker.errors.DockerException, requests.RequestException) as error:
        return f"no container engine answers ({error})"
    if system != "linux":
        return "the container engine runs no Linux containers"
    return None


def _socket_refusal() -> str | None:
    """Try the engine's local socket: docker's client leaves a refused socket open."""
    scheme, _, path = (os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock").partition("://")
    if scheme != "unix":
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            return f"{path}: {error.strerror}"
    return None


@lru_cache(maxsize=1)
def client() -> docker.DockerClient:
    """Return the process' client of the engine."""
    return docker.from_env(timeout=_WORK_TIMEOUT_S)


@lru_cache(maxsize=8)
def registry_has(image: str) -> bool:
    """Return whether a registry answers for an image; takes at most 6 s, checked once per process."""
    try:
        asking = docker.from_env(timeout=_REGISTRY_TIMEOUT_S)
        try:
            asking.images.get_registry_data(image)
        finally:
            asking.close()
    except (docker.errors.DockerException, requests.RequestException):
        return False
    return True


def owner() -> str:
    """Return this process' mark; the start time distinguishes it from a later process with the same id."""
    return f"{os.getpid()}:{psutil.Process().create_time():.2f}"


def sweep() -> None:
    """Remove the containers of ended sessions; several sessions may do so at once."""
    # Another session may remove a container after the engine has listed it.
    for container in client().containers.list(all=True, filters={"label": OWNER_LABEL}, ignore_removed=True):
        if not _is_alive(container.labels[OWNER_LABEL]):
            _remove(container)


def _remove(container: Container) -> None:
    """Remove a container, or wait until another session has removed it, so that its ports are free."""
    try:
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:
            raise
        with suppress(docker.errors.NotFound):
            container.wait(condition="removed")


def _is_alive(mark: str) -> bool:
    pid, _, started = mark.partition(":")
    try:
        return f"{psutil.Process(int(pid)).create_time():.2f}" == started
    except psutil.NoSuchProcess:
        return False


if __name__ == "__main__":
    sys.exit(why_no_engine())
