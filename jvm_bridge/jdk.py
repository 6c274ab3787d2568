"""Finds the Java of this machine and the flags that Pinot needs with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller_client.errors import SetupError

__all__ = ["MINIMUM_JAVA", "Java", "find_java", "module_flags", "parse_java_version"]

MINIMUM_JAVA = 11

# Since 17 the JDK encapsulates its internals, which Pinot's off-heap buffers and its libraries use.
_STRONG_ENCAPSULATION = 17
_OPENED = (
    "java.nio",
    "sun.nio.ch",
    "java.lang",
    "java.util",
    "jdk.internal.ref",
    "sun.nio.fs",
    "java.lang.reflect",
    "jdk.internal.misc",
)
# 24 warns about sun.misc.Unsafe and about JNI, both used in Pinot's libraries; users cannot change that.
_UNSAFE_WARNINGS = 24
_VERSION_TIMEOUT_S = 30
_VERSION = re.compile(r'version "(?P<version>[^"]+)"')
_RELEASE = re.compile(r'^JAVA_VERSION="(?P<version>[^"]+)"', re.MULTILINE)
_REMEDY = (
    f"install a JDK or JRE of version {MINIMUM_JAVA} or newer (17 is well tested) and set JAVA_HOME to it"
)


@dataclass(frozen=True)
class Java:
    """A Java installation.

    Attributes:
        home: Its folder.
        executable: The ``java`` program in it.
        version: The feature version: 11, 17, 21 ...
        version_text: The full version, e.g. ``17.0.15``.
        found_by: How it was found: ``JAVA_HOME`` or ``PATH``.
    """

    home: Path
    executable: Path
    version: int
    version_text: str
    found_by: str

    @property
    def jvm_library(self) -> Path:
        """The shared library of the server JVM.

        Raises:
            SetupError: This installation has none.
        """
        names = ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "jre/lib/server/libjvm.dylib")
        library = next((self.home / name for name in names if (self.home / name).is_file()), None)
        if library is None:
            raise SetupError(
                f"the Java {self.version_text} found by {self.found_by} has no libjvm",
                expected=f"one of {', '.join(names)}",
                where=str(self.home),
                remedy=_REMEDY,
            )
        return library


def find_java(env: Mapping[str, str] | None = None) -> Java:
    """Find Java: JAVA_HOME if it is set, else the ``java`` on the PATH.

    Args:
        env: The environment to read; default: that of the process.

    Raises:
        SetupError: There is none, JAVA_HOME is not a Java installation, or it is too old.
    """
    env = os.environ if env is None else env
    found_by, executable = _executable(env)
    home = executable.resolve().parent.parent
    text = _version_text(home, executable, found_by)
    version = parse_java_version(text)
    if version < MINIMUM_JAVA:
        raise SetupError(
            f"the Java found by {found_by} is {text}",
            expected=f"Java {MINIMUM_JAVA} or newer",
            where=str(executable),
            remedy=_REMEDY,
        )
    return Java(home, executable, version, text, found_by)


def parse_java_version(text: str) -> int:
    """Return the feature version of a version text: 8 for ``1.8.0_402``, 17 for ``17.0.15`` or ``17-ea``.

    Raises:
        SetupError: It is not a Java version.
    """
    match = re.match(r"(?:1\.)?(\d+)(?=\D|$)", text)
    if match is None:
        raise SetupError(f"{text!r} is not a Java version", expected="such as 17.0.15", remedy=_REMEDY)
    return int(match[1])


def module_flags(version: int) -> list[str]:
    """Return the command-line flags that give Pinot access to JDK internals in a feature version."""
    if version < _STRONG_ENCAPSULATION:
        return []
    flags = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    flags.append("--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED")
    if version >= _UNSAFE_WARNINGS:
        flags += ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"]
    return flags


def _executable(env: Mapping[str, str]) -> tuple[str, Path]:
    if env.get("JAVA_HOME"):
        executable = Path(env["JAVA_HOME"]) / "bin" / "java"
        if not os.access(executable, os.X_OK):
            raise SetupError(
                "JAVA_HOME is not a Java installation: it has no bin/java",
                where=env["JAVA_HOME"],
                remedy=f"correct or unset JAVA_HOME; or {_REMEDY}",
            )
        return "JAVA_HOME", executable
    java = shutil.which("java", path=env.get("PATH", os.defpath))
    if java is None:
        raise SetupError(
            "no Java was found: JAVA_HOME is not set and there is no java on the PATH", remedy=_REMEDY
        )
    return "PATH", Path(java)


def _version_text(home: Path, executable: Path, found_by: str) -> str:
    release = home / "release"
    if release.is_file() and (match := _RELEASE.search(release.read_text(errors="replace"))):
        return match["version"]
    try:  # no release file, or a wrapper script on the PATH
        answer = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(
            f"the java found by {found_by} cannot be run: {error}", where=str(executable), remedy=_REMEDY
        ) from error
    match = _VERSION.search(answer.stderr + answer.stdout)
    if match is None:
        raise SetupError(
            f"the java found by {found_by} does not report its version (exit code {answer.returncode})",
            where=str(executable),
            remedy=_REMEDY,
        )
    return match["version"]
