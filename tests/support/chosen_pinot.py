"""Which Pinot a run tests: the pinned jars, a distribution (``PINOT_HOME``) or an image (``PINOT_IMAGE``).

The jars of an image are copied to this machine, because hosted roles and segment builds run here. From then
on, the copy is the run's ``PINOT_HOME``, also for child processes and the processes of pytest-xdist.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

import docker.errors
import pytest
from docker.models.containers import Container
from docker.models.images import Image

from jvm_bridge.jars import DEFAULT_PINS, cache_folder
from tests.support import engine
from tests.support.file_lock import file_lock

__all__ = ["HOME", "IMAGE", "choose_pinot", "described"]

HOME = "PINOT_HOME"
IMAGE = "PINOT_IMAGE"

# The location of Pinot in the official image, and the parts of it that are on a class path.
_HOME_IN_IMAGE = "/opt/pinot"
_FOLDERS = ("lib", "plugins")


def choose_pinot(environment: MutableMapping[str, str] = os.environ) -> None:
    """Copy the jars from the image that ``PINOT_IMAGE`` names, and set ``PINOT_HOME``; otherwise do nothing.

    Call it once per run, in the process that starts the run.

    Raises:
        pytest.UsageError: Both variables are set, or the image is not available or not a Pinot image.
    """
    image = environment.get(IMAGE)
    if not image:
        return
    if home := environment.get(HOME):
        raise pytest.UsageError(
            f"{HOME} ({home}) and {IMAGE} ({image}) are both set, but a run has one Pinot: unset one of them"
        )
    if reason := engine.why_no_engine():
        raise pytest.UsageError(
            f"{IMAGE} is {image}, but {reason}: unset it, or set {HOME} to a distribution"
        )
    environment[HOME] = str(_copy_of(_image(image)))


def described(environment: MutableMapping[str, str] = os.environ) -> str:
    """Return the line that names the run's Pinot."""
    home = environment.get(HOME)
    if image := environment.get(IMAGE):
        return f"{IMAGE} {image}, its jars in {home}"
    return f"{HOME} {home}" if home else f"pinned jars ({DEFAULT_PINS})"


def _image(name: str) -> Image:
    try:
        try:
            return engine.client().images.get(name)
        except docker.errors.ImageNotFound:
            return engine.client().images.pull(name)
    except docker.errors.DockerException as error:
        raise pytest.UsageError(
            f"{IMAGE}: {name} is not on this machine and cannot be pulled: {error}"
        ) from error


def _copy_of(image: Image) -> Path:
    """Return the folder with the image's jars; created atomically if it does not exist."""
    digest = str(image.id).partition(":")[2][:12]
    images = cache_folder() / "images"
    target, unfinished = images / digest, images / f"{digest}.unfinished"
    with file_lock(images / f"{digest}.lock"):
        if not target.exists():
            # Left there by a killed run.
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            try:
                _copy(image, unfinished)
                unfinished.rename(target)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return target


def _copy(image: Image, folder: Path) -> None:
    with _container(image) as container:
        for name in _FOLDERS:
            with tempfile.TemporaryFile() as archive:
                try:
                    stream, _ = container.get_archive(f"{_HOME_IN_IMAGE}/{name}")
                except docker.errors.NotFound as error:
                    raise pytest.UsageError(
                        f"{IMAGE}: {', '.join(image.tags) or image.id} has no {_HOME_IN_IMAGE}/{name}; "
                        "expected an image laid out as apachepinot/pinot"
                    ) from error
                for chunk in stream:
                    archive.write(chunk)
                archive.seek(0)
                with tarfile.open(fileobj=archive) as tar:
                    tar.extractall(folder, filter="data")


@contextmanager
def _container(image: Image) -> Iterator[Container]:
    container = engine.client().containers.create(str(image.id))
    try:
        yield container
    finally:
        container.remove(v=True)
