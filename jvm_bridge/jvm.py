"""The one JVM of a Python process, started by JPype with Pinot's jars."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import re
import shlex
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path

import psutil

from controller_client.common.folders import scratch_folder
from controller_client.errors import ConfigError, PinotPluginError, SetupError
from controller_client.rest.capabilities import PinotVersion, warn_if_untested
from jvm_bridge.class_archive import archive_options
from jvm_bridge.environment import keep_from_java
from jvm_bridge.jars import JarSet, pinot_jars
from jvm_bridge.jdk import Java, find_java, module_flags

__all__ = [
    "OPTIONS_VARIABLE",
    "check_jars_fit",
    "class_folder",
    "logging_options",
    "options_of_environment",
    "running_jars",
    "start_jvm",
    "start_jvm_with",
]

logger = logging.getLogger(__name__)

DEFAULT_MAX_HEAP_MB = 1024
OPTIONS_VARIABLE = "PINOT_PLUGINS_JAVA_OPTS"
"""The environment variable with further options of Java."""
_MIB = 1024 * 1024

_lock = threading.Lock()
_started: JarSet | None = None
_class_folder: Path | None = None


def start_jvm(
    *,
    max_heap_mb: int | None = None,
    system_properties: Mapping[str, str] | None = None,
    log_dir: Path | None = None,
    options: Sequence[str] = (),
    is_short_lived: bool = False,
    is_role: bool = False,
) -> None:
    """Start this process' JVM; does nothing where it runs already (its flags cannot be changed any more).

    Options in the environment variable ``PINOT_PLUGINS_JAVA_OPTS`` come last, hence win. Where
    ``pinotctl jars warm`` has left an archive of classes, the JVM takes it.

    Ctrl-C and SIGTERM stay with Python: the JVM installs no signal handlers. Call it from the main thread or
    any other, but never at import and never before a fork.

    Args:
        max_heap_mb: Largest heap, MiB; 1024 by default.
        system_properties: Java system properties.
        log_dir: Folder for the JVM's log file ``jvm.log``; without it the log goes to stderr, warnings only.
        options: Further options; one that is above too, as the heap, wins.
        is_short_lived: Whether this process ends soon. It then takes only the quicker of Java's two
            compilers: some two seconds less at the start, up to half as much time again for what is compiled.
            That pays below some 75 million rows.
        is_role: Whether a Pinot role, which shows its environment to anybody, is to run in it. Variables that
            may hold secrets are then hidden from Java, and from child processes that inherit the environment.

    Raises:
        SetupError: No fitting Java, no jars, or the JVM refuses to start.
        ConfigError: The quotes in ``PINOT_PLUGINS_JAVA_OPTS`` do not match.
    """
    heap_mb = max_heap_mb or DEFAULT_MAX_HEAP_MB

    def flags(java: Java, jars: JarSet) -> list[str]:
        _check_heap(heap_mb)
        if log_dir:
            log_dir.mkdir(parents=True, exist_ok=True)
        return [
            f"-Xmx{heap_mb}m",
            "-Xrs",
            *(["-XX:TieredStopAtLevel=1"] if is_short_lived else []),
            *archive_options(java, jars),
            *logging_options(log_dir / "jvm.log" if log_dir else None),
            *(f"-D{name}={value}" for name, value in (system_properties or {}).items()),
            *options,
            *options_of_environment(),
        ]

    _start(flags, hide_secrets=is_role)


def start_jvm_with(options: Sequence[str]) -> None:
    """Start this process' JVM with the options that a stock Pinot role would get; else as :func:`start_jvm`.

    Nothing is added but the modules that Pinot needs opened, and an empty folder before the jars, for
    :func:`class_folder`. Signals are the JVM's: SIGQUIT prints its
    threads, SIGTERM, SIGINT and SIGHUP run its shutdown hooks and end the process, and jcmd can attach, as
    with a stock role. Variables that may hold secrets are hidden from Java. Call it in the main thread.

    Raises:
        SetupError: No fitting Java, no jars, or the JVM refuses to start.
    """
    # With -Xrs the JVM leaves signals alone: then Ctrl-C is to end the process, as it ends java.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _start(lambda _java, _jars: list(options), like_stock=True, hide_secrets=True)


def _start(
    make_flags: Callable[[Java, JarSet], list[str]], *, like_stock: bool = False, hide_secrets: bool
) -> None:
    global _started, _class_folder  # the JVM is one a process, so is what we know of it
    import jpype

    with _lock:
        if jpype.isJVMStarted():
            _check_foreign_jvm()
            return
        java, jars = find_java(), pinot_jars()
        flags = make_flags(java, jars)
        # The JVM forgets a folder of its class path that is not there when it starts.
        folders = [_make_class_folder()] if like_stock else []
        if hide_secrets:
            keep_from_java()
        try:
            jpype.startJVM(
                *flags,
                *module_flags(java.version),
                jvmpath=java.jvm_library,
                classpath=[str(path) for path in (*folders, *jars.class_path)],
                convertStrings=False,
                interrupt=like_stock,
            )
        except (OSError, RuntimeError) as error:
            raise SetupError(
                f"Java {java.version_text} does not start in this process: {error}",
                where=str(java.home),
                remedy="Look at the lines that the JVM wrote to stderr; a heap larger than the free memory, "
                "or a wrong option, is the usual cause.",
            ) from error
        _part_collectors()
        _started, _class_folder = jars, next(iter(folders), None)
        with suppress(PinotPluginError):  # a build of one's own may have any version
            warn_if_untested(PinotVersion.parse(jars.version))
        logger.info("JVM started: Java %s, Pinot %s (%s)", java.version_text, jars.version, jars.origin)


def _part_collectors() -> None:
    """Leave each garbage collector to itself.

    JPype has Python collect all it has after each of Java's collections (a twentieth of the time of a server
    that ingests), and Java, by ``System.gc()``, after Python's where the process has grown, as one does that
    maps segments.
    """
    import jpype

    # Without it JPype takes Python for one that collects from the first time on, and asks no more for it.
    with suppress(ValueError):
        gc.callbacks.remove(jpype._jpype._collect)  # noqa: SLF001  # it has no other switch


def running_jars() -> JarSet | None:
    """The jars of the JVM that :func:`start_jvm` started here; None before that."""
    return _started


def class_folder() -> Path | None:
    """The folder that stands before the jars of a role's JVM: classes that are put there can be loaded."""
    return _class_folder


def _make_class_folder() -> Path:
    stack = ExitStack()
    atexit.register(stack.close)  # what a process leaves that ends otherwise, the next one sweeps
    return stack.enter_context(scratch_folder("pinot-classes-"))


def logging_options(log_file: Path | None = None, *, level: str | None = None) -> list[str]:
    """Options by which a JVM takes this project's log4j2 configuration; a later ``-D`` of the same name wins.

    Args:
        log_file: Where the log goes; stderr by default.
        level: The root level; ``info`` with a file, ``warn`` on stderr by default.
    """
    properties = {
        "log4j2.configurationFile": str(files("jvm_bridge") / "log4j2.xml"),
        "pinotPlugins.log.level": level or ("info" if log_file else "warn"),
        "pinotPlugins.log.appender": "file" if log_file else "stderr",
    }
    if log_file:
        properties["pinotPlugins.log.file"] = str(log_file)
    return [f"-D{name}={value}" for name, value in properties.items()]


def check_jars_fit(jars_version: str, cluster_version: str) -> None:
    """Compare the jars' version with the cluster's, by major.minor.

    Newer jars may write segments that the cluster's servers cannot read, so that is an error; older jars
    write an older format, which newer servers read, so that is a warning in the log.

    Raises:
        SetupError: The jars are newer than the cluster.
    """
    jars, cluster = _major_minor(jars_version), _major_minor(cluster_version)
    if jars is None or cluster is None:
        logger.warning(
            "cannot compare the jars' version %s with the cluster's %s", jars_version, cluster_version
        )
    elif jars > cluster:
        raise SetupError(
            f"The jars are Pinot {jars_version}, the cluster is {cluster_version}",
            expected=f"jars of version {cluster[0]}.{cluster[1]} or older",
            remedy=f"Set PINOT_HOME to a Pinot distribution of version {cluster_version}.",
        )
    elif jars < cluster:
        logger.warning(
            "the jars are Pinot %s, the cluster is %s: set PINOT_HOME to a distribution of the cluster's "
            "version",
            jars_version,
            cluster_version,
        )


def _major_minor(version: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def options_of_environment() -> list[str]:
    """The options of Java in ``PINOT_PLUGINS_JAVA_OPTS``.

    Raises:
        ConfigError: Its quotes do not match.
    """
    try:
        return shlex.split(os.environ.get(OPTIONS_VARIABLE, ""))
    except ValueError as error:
        raise ConfigError(
            f"{OPTIONS_VARIABLE} cannot be read: {error}", expected="options of Java, quoted as in a shell"
        ) from error


def _check_heap(heap_mb: int) -> None:
    """Refuse what the JVM would refuse by ending this whole process."""
    memory_mb = psutil.virtual_memory().total // _MIB
    if heap_mb > memory_mb:
        raise SetupError(
            f"A heap of {heap_mb} MiB is more than this machine's memory",
            expected=f"at most {memory_mb} MiB",
            remedy="Ask for a smaller heap.",
        )


def _check_foreign_jvm() -> None:
    """Accept a JVM that somebody else started in this process only if Pinot is in it."""
    if _started is not None:
        return
    import jpype

    try:
        jpype.JClass("org.apache.pinot.spi.data.Schema")
    except TypeError as error:
        raise SetupError(
            "A JVM without Pinot's jars runs in this process already, and there can be only one",
            remedy="Call jvm_bridge.jvm.start_jvm() before anything else starts a JVM here, or use another "
            "process.",
        ) from error
