"""Iceberg's own library in a JVM of this process: its jars and classes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jpype
import pyspark

from jvm_bridge.jars import JarCache, Repository, cache_folder, parse_pins
from jvm_bridge.jars.download import MIRROR_VARIABLE
from jvm_bridge.jdk import find_java, module_flags

__all__ = ["iceberg_class", "java_list", "start_iceberg"]

_NAME = "iceberg-1.11.0"
_PINS = Path(__file__).parents[2] / "pins"


def start_iceberg() -> None:
    """Start the JVM with Iceberg's jars, which are fetched at the first call on a machine, and Hadoop's."""
    pins = parse_pins(_NAME, (_PINS / f"{_NAME}.txt").read_text(encoding="utf-8"))
    jars = JarCache(cache_folder(), Repository(os.environ.get(MIRROR_VARIABLE) or None)).ensure(pins)
    hadoop = sorted(Path(pyspark.__file__).parent.glob("jars/hadoop-client-*.jar"))
    java = find_java()
    options = ["-Xmx512m", "-Xrs", "-XX:+UseSerialGC", *module_flags(java.version)]
    class_path = [*map(str, jars), *map(str, hadoop)]
    jpype.startJVM(*options, jvmpath=java.jvm_library, classpath=class_path, convertStrings=False)


def iceberg_class(name: str) -> Any:
    """Return a class of Iceberg."""
    return jpype.JClass(f"org.apache.iceberg.{name}")


def java_list(values: Iterable[Any]) -> Any:
    """Return a list of Java."""
    result = jpype.JClass("java.util.ArrayList")()
    for value in values:
        result.add(value)
    return result
