"""The container engine: whether it runs, whether a registry answers, and the containers of a session."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus

import docker
import docker.errors
import requests
from docker.models.containers import Container

_LABEL = "pinot-plugins.tests.slot"
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


def labels(slot: int) -> dict[str, str]:
    """Return the labels of the containers of the session in a slot."""
    return {_LABEL: str(slot)}


def remove_containers(slot: int) -> None:
    """Remove all containers of the session in a slot, and wait until their ports are free."""
    mine: dict[str, str | list[str] | bool] = {"label": f"{_LABEL}={slot}"}
    # A container may go on its own after the engine has listed it.
    for container in client().containers.list(all=True, filters=mine, ignore_removed=True):
        _remove(container)


def _remove(container: Container) -> None:
    try:
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:  # somebody removes it already
            raise
        with suppress(docker.errors.NotFound):
            container.wait(condition="removed")


if __name__ == "__main__":
    sys.exit(why_no_engine())
