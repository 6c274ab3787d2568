"""The JVM of a Python process, started by JPype with Pinot's jars."""

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
"""The environment variable with further Java options."""
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
    """Start the JVM of this process; does nothing if it is already running, as its flags cannot change.

    Options in the environment variable ``PINOT_PLUGINS_JAVA_OPTS`` come last and take precedence. If
    ``pinotctl jars warm`` has created a class archive, the JVM uses it.

    Python handles Ctrl-C and SIGTERM: the JVM installs no signal handlers. Call it from any thread, but never
    at import and never before a fork.

    Args:
        max_heap_mb: Maximum heap, MiB; default: 1024.
        system_properties: Java system properties.
        log_dir: Folder for the JVM's log file ``jvm.log``; default: warnings go to stderr.
        options: Further options, which take precedence over the arguments above, such as the heap.
        is_short_lived: Whether this process ends soon. The JVM then uses only the faster of Java's two
            compilers, which saves some two seconds at the start, but makes compiled code up to 50 % slower.
            This pays off below some 75 million rows.
        is_role: Whether the JVM runs a Pinot role, which shows its environment to anybody. Variables that may
            have secrets are then hidden from Java, and from child processes that inherit the environment.

    Raises:
        SetupError: There is no suitable Java, there are no jars, or the JVM does not start.
        ConfigError: ``PINOT_PLUGINS_JAVA_OPTS`` has unbalanced quotes.
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
    """Start the JVM of this process with the options of a stock Pinot role; otherwise like :func:`start_jvm`.

    It only adds flags to open the modules that Pinot needs, and an empty folder before the jars, for
    :func:`class_folder`. The JVM handles signals as in a stock role: SIGQUIT prints its threads, SIGTERM,
    SIGINT and SIGHUP run its shutdown hooks and end the process, and jcmd can attach. Variables that may have
    secrets are hidden from Java. Call it in the main thread.

    Raises:
        SetupError: There is no suitable Java, there are no jars, or the JVM does not start.
    """
    # With -Xrs the JVM ignores signals: then Ctrl-C has to end the process, as it ends java.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _start(lambda _java, _jars: list(options), like_stock=True, hide_secrets=True)


def _start(
    make_flags: Callable[[Java, JarSet], list[str]], *, like_stock: bool = False, hide_secrets: bool
) -> None:
    global _started, _class_folder  # there is one JVM per process
    import jpype

    with _lock:
        if jpype.isJVMStarted():
            _check_foreign_jvm()
            return
        java, jars = find_java(), pinot_jars()
        flags = make_flags(java, jars)
        # The JVM drops folders from its class path that do not exist when it starts.
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
                remedy="check the JVM's output on stderr; usual causes are a heap larger than the free "
                "memory and an invalid option",
            ) from error
        _separate_collectors()
        _started, _class_folder = jars, next(iter(folders), None)
        with suppress(PinotPluginError):  # a custom build may have any version
            warn_if_untested(PinotVersion.parse(jars.version))
        logger.info("JVM started: Java %s, Pinot %s (%s)", java.version_text, jars.version, jars.origin)


def _separate_collectors() -> None:
    """Let each garbage collector run on its own.

    JPype makes Python run a full collection after each of Java's (5 % of the time of an ingesting server),
    and Java run ``System.gc()`` after Python's if the process has grown, as one that maps segments does.
    """
    import jpype

    # Without this callback JPype assumes that Python is always collecting, and never triggers it.
    with suppress(ValueError):
        gc.callbacks.remove(jpype._jpype._collect)  # noqa: SLF001  # there is no public option


def running_jars() -> JarSet | None:
    """Return the jars of the JVM that :func:`start_jvm` started here; None before that."""
    return _started


def class_folder() -> Path | None:
    """Return the folder before the jars in the class path of a role's JVM: classes in it can be loaded."""
    return _class_folder


def _make_class_folder() -> Path:
    stack = ExitStack()
    atexit.register(stack.close)  # after another kind of exit the next process deletes the folder
    return stack.enter_context(scratch_folder("pinot-classes-"))


def logging_options(log_file: Path | None = None, *, level: str | None = None) -> list[str]:
    """Return options for this project's log4j2 configuration; a later ``-D`` with the same name wins.

    Args:
        log_file: The log file; default: stderr.
        level: The root level; default: ``info`` for a file, ``warn`` for stderr.
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

    Newer jars may write segments that the cluster's servers cannot read, which is an error. Older jars write
    an older format, which newer servers can read, so the log only gets a warning.

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
            f"the jars are Pinot {jars_version}, the cluster is {cluster_version}",
            expected=f"jars of version {cluster[0]}.{cluster[1]} or older",
            remedy=f"set PINOT_HOME to a Pinot distribution of version {cluster_version}",
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
    """Return the Java options in ``PINOT_PLUGINS_JAVA_OPTS``.

    Raises:
        ConfigError: It has unbalanced quotes.
    """
    try:
        return shlex.split(os.environ.get(OPTIONS_VARIABLE, ""))
    except ValueError as error:
        raise ConfigError(
            f"{OPTIONS_VARIABLE} cannot be parsed: {error}", expected="Java options, quoted as in a shell"
        ) from error


def _check_heap(heap_mb: int) -> None:
    """Reject a heap for which the JVM would end the whole process."""
    memory_mb = psutil.virtual_memory().total // _MIB
    if heap_mb > memory_mb:
        raise SetupError(
            f"a heap of {heap_mb} MiB is more than this machine's memory",
            expected=f"at most {memory_mb} MiB",
            remedy="configure a smaller heap",
        )


def _check_foreign_jvm() -> None:
    """Accept a JVM that other code started in this process only if it has Pinot's classes."""
    if _started is not None:
        return
    import jpype

    try:
        jpype.JClass("org.apache.pinot.spi.data.Schema")
    except TypeError as error:
        raise SetupError(
            "this process already has a JVM, without Pinot's jars, and there can be only one",
            remedy="call jvm_bridge.jvm.start_jvm() before other code starts a JVM here, or use another "
            "process",
        ) from error
