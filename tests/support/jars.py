"""The jars of Pinot and Kafka, the input of their start scripts, and the archive of a builder's classes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from controller_client.errors import SetupError
from jvm_bridge.class_archive import archive_path
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


def archive_classes() -> None:
    """Archive the classes of a builder's JVM, unless an earlier run has: hundreds of tests start one.

    On a Java that cannot write archives, they only start slower.
    """
    with suppress(SetupError):
        if not archive_path(find_java(), jars_of(Program.PINOT)).is_file():
            from jvm_bridge.builder.warm_up import warm_up  # takes a second to import

            warm_up()
