"""Pinot's jars: those of the distribution in PINOT_HOME, or else the pinned ones from Maven Central.

Environment:
    PINOT_HOME: A Pinot distribution, of any version.
    PINOT_PLUGINS_CACHE: Folder for fetched jars; default: ``~/.cache/pinot-plugins``.
    PINOT_PLUGINS_MAVEN_REPOSITORY: A mirror to fetch from, a URL or folder; default: Maven Central.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jvm_bridge.jars.cache import JarCache, Progress
from jvm_bridge.jars.distribution import distribution_class_path, distribution_version
from jvm_bridge.jars.download import MIRROR_VARIABLE, Repository
from jvm_bridge.jars.own_folder import check_only_ours
from jvm_bridge.jars.pins import Pin, PinSet, load_pins, parse_pins

__all__ = [
    "DEFAULT_PINS",
    "JarCache",
    "JarSet",
    "Pin",
    "PinSet",
    "Progress",
    "Repository",
    "cache_folder",
    "kafka_jars",
    "load_pins",
    "parse_pins",
    "pinned_jars",
    "pinot_jars",
]

DEFAULT_PINS = "pinot-0.11.0"
"""The newest Pinot that is completely on Maven Central."""

_KAFKA_PINS = "kafka-3.9.1"


@dataclass(frozen=True)
class JarSet:
    """A class path.

    Attributes:
        version: Version of the software in it, e.g. ``0.11.0``.
        class_path: The jars, in the order of the class path.
        origin: Where they come from, for messages.
    """

    version: str
    class_path: tuple[Path, ...]
    origin: str


def pinot_jars(progress: Progress | None = None, *, env: Mapping[str, str] | None = None) -> JarSet:
    """Return Pinot's jars; the first call on a machine fetches the pinned ones.

    Args:
        progress: Called in the calling thread with (jars done, jars in total) while jars are fetched.
        env: The environment to read; default: that of the process.

    Raises:
        SetupError: PINOT_HOME is not a distribution, or a jar cannot be fetched.
    """
    env = os.environ if env is None else env
    if env.get("PINOT_HOME"):
        home = Path(env["PINOT_HOME"]).expanduser()
        class_path = distribution_class_path(home)
        return JarSet(distribution_version(home, class_path), class_path, f"PINOT_HOME {home}")
    return pinned_jars(DEFAULT_PINS, progress, env=env)


def pinned_jars(
    name: str, progress: Progress | None = None, *, env: Mapping[str, str] | None = None
) -> JarSet:
    """Return the jars of a pins file, e.g. ``kafka-3.9.1``; see :func:`pinot_jars`."""
    return _ensure(load_pins(name), progress, os.environ if env is None else env)


def kafka_jars(progress: Progress | None = None, *, env: Mapping[str, str] | None = None) -> JarSet:
    """Return the jars of a Kafka node, with a logger; see :func:`pinot_jars`."""
    kafka = load_pins(_KAFKA_PINS)
    # Kafka's dependencies do not include a logger; without one its log is empty.
    loggers = (pin for pin in load_pins(DEFAULT_PINS).pins if pin.artifact.startswith("log4j-"))
    return _ensure(PinSet(kafka.name, (*kafka.pins, *loggers)), progress, os.environ if env is None else env)


def _ensure(pins: PinSet, progress: Progress | None, env: Mapping[str, str]) -> JarSet:
    folder = cache_folder(env)
    cache = JarCache(folder, Repository(env.get(MIRROR_VARIABLE) or None))
    return JarSet(pins.version, cache.ensure(pins, progress), f"pins {pins.name} in {folder}")


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Return the cache folder of this project.

    Raises:
        SetupError: Another user may write to it, and so choose the code that this process runs.
    """
    env = os.environ if env is None else env
    given = env.get("PINOT_PLUGINS_CACHE")
    folder = Path(given).expanduser() if given else Path.home() / ".cache" / "pinot-plugins"
    check_only_ours(folder)
    return folder
