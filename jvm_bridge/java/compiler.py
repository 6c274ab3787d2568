"""The JDK's own compiler, in this process' JVM."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jpype

from controller_client.errors import SetupError
from jvm_bridge.java_errors import JAVA_ERRORS
from jvm_bridge.jdk import MINIMUM_JAVA

__all__ = ["CompileError", "compile_java"]


class CompileError(Exception):
    """A source does not compile against these jars: the first error, with file and line."""


def compile_java(sources: Sequence[Path], class_path: Iterable[Path], target: Path) -> None:
    """Compile Java sources; the JVM must be running.

    Warnings are dropped: users cannot change code that calls methods which a later Pinot deprecates.

    Args:
        sources: The files.
        class_path: The jars to compile against.
        target: Folder for the classes; nothing is written there if a source does not compile.

    Raises:
        CompileError: A source does not compile.
        SetupError: This Java has no compiler.
    """
    compiler = _compiler()
    messages = jpype.JClass("javax.tools.DiagnosticCollector")()
    text = jpype.JClass("java.io.StringWriter")()
    english = jpype.JClass("java.util.Locale").ENGLISH
    utf_8 = jpype.JClass("java.nio.charset.StandardCharsets").UTF_8
    options = [
        *("-d", str(target), "-cp", os.pathsep.join(map(str, class_path)), "-encoding", "UTF-8"),
        *("--release", str(MINIMUM_JAVA), "-nowarn", "-Xlint:none"),
        "-proc:none",  # Pinot's jars contain annotation processors
    ]
    manager = compiler.getStandardFileManager(messages, english, utf_8)
    try:
        array_list = jpype.JClass("java.util.ArrayList")
        units = manager.getJavaFileObjectsFromStrings(array_list([str(source) for source in sources]))
        # The compiler's messages go to these two, and not to the role's output.
        task = compiler.getTask(text, manager, messages, array_list(options), None, units)
        done = bool(task.call())
    except JAVA_ERRORS as error:
        raise CompileError(f"the compiler failed: {error}") from error
    finally:
        manager.close()
    if not done:
        raise CompileError(_first_error(messages, english) or str(text).strip())


def _compiler() -> Any:
    try:
        compiler = jpype.JClass("javax.tools.ToolProvider").getSystemJavaCompiler()
    except TypeError:  # a runtime without the interface
        compiler = None
    if compiler is None:
        system = jpype.JClass("java.lang.System")
        raise SetupError(
            f"the Java {system.getProperty('java.version')} of this process has no compiler",
            expected="a JDK, not only a JRE: the module jdk.compiler",
            where=str(system.getProperty("java.home")),
            remedy="install a JDK and set JAVA_HOME to it",
        )
    return compiler


def _first_error(messages: Any, locale: Any) -> str | None:
    for diagnostic in messages.getDiagnostics():
        if str(diagnostic.getKind()) == "ERROR":
            lines = [line.strip() for line in str(diagnostic.getMessage(locale)).splitlines()]
            source = diagnostic.getSource()
            where = (
                "" if source is None else f"{Path(str(source.getName())).name}:{diagnostic.getLineNumber()}: "
            )
            return where + ", ".join(lines)
    return None
