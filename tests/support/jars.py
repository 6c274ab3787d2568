"""Input of the start scripts of Pinot and Kafka: class path, JVM flags, logging."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from jvm_bridge.jars import JarSet, kafka_jars, pinot_jars
from jvm_bridge.jdk import find_java, module_flags
from tests.support.service import Program


@lru_cache(maxsize=2)
def jars_of(program: Program) -> JarSet:
    """Return the jars of Pinot or Kafka; fetches them at the first call on a machine."""
    return pinot_jars() if program is Program.PINOT else kafka_jars()


def start_files(class_path: Sequence[str | Path]) -> dict[str, str]:
    """Return the files in ``etc`` of a program's home, by name.

    Args:
        class_path: The jars by the paths that the program sees, in order.
    """
    joined = ":".join(str(jar) for jar in class_path)
    return {
        "class-path.options": f'-cp "{joined}"\n',
        "jvm.options": "".join(f"{flag}\n" for flag in module_flags(find_java().version)),
        "log4j2.xml": (files("jvm_bridge") / "log4j2.xml").read_text(encoding="utf-8"),
    }
