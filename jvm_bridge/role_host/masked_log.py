"""Masks secrets in a role's log, with any configuration of log4j.

Pinot's roles log their whole configuration when they start, including the keys of the deep store. So each
appender is wrapped by a rewriting appender, which masks messages, and messages of exceptions, with the same
pattern as :func:`controller_client.common.redaction.mask_text`. It is written in Java, as the log of a busy
server must not wait for Python. Text that a layout adds, e.g. system properties, is not masked.

Python's log records go through the same logger, so that a hosted role has one log with one format.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import jpype

from controller_client.common.redaction import MASKED_IN_JAVA, SECRETS_IN_TEXT, mask_text
from controller_client.common.terminal import LogFormatter
from controller_client.errors import SetupError
from jvm_bridge.java import CompileError, JavaSources, load_java
from jvm_bridge.java_errors import JAVA_ERRORS, text_of
from jvm_bridge.java_interface import overrides

__all__ = ["log_through_java", "mask_log"]


def log_through_java() -> None:
    """Replace the handlers of Python's root logger; the JVM must be running. log4j filters by level."""
    root = logging.getLogger()
    root.handlers[:] = [_JavaHandler()]
    root.setLevel(min(root.level, logging.INFO))


class _JavaHandler(logging.Handler):
    """Called in the thread that logs, a Python or a Java thread."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LogFormatter())
        self._factory: Any = jpype.JClass("org.slf4j.LoggerFactory")

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            target = self._factory.getLogger(record.name)
            # Without arguments slf4j does not interpret braces in the text.
            text = jpype.JString(self.format(record))
            if record.levelno >= logging.ERROR:
                target.error(text)
            elif record.levelno >= logging.WARNING:
                target.warn(text)
            elif record.levelno >= logging.INFO:
                target.info(text)
            else:
                target.debug(text)
        except Exception:  # noqa: BLE001  # like every logging handler: a log line must not end the program
            self.handleError(record)


_CORE = "org.apache.logging.log4j.core"

_PACKAGE = "io.pinotplugins.log"

_PREFIX = "masked-"


def mask_log() -> None:
    """Mask everything that log4j writes, also after it reloads its configuration; the JVM must be running.

    Raises:
        SetupError: This Java has no compiler, or the log is not written by log4j 2, so that its secrets would
            be readable.
    """
    try:
        policy = _make_policy()
        # The first logger creates the context, for the class loader of all of Pinot's classes.
        jpype.JClass("org.slf4j.LoggerFactory").getLogger(__name__)
        for context in (
            jpype.JClass("org.apache.logging.log4j.LogManager").getFactory().getSelector().getLoggerContexts()
        ):
            _mask_appenders(context.getConfiguration(), policy)
            context.addPropertyChangeListener(_OnReload(policy))
    except (*JAVA_ERRORS, CompileError, TypeError, AttributeError) as error:
        raise SetupError(
            f"the secrets in the log cannot be masked: {mask_text(text_of(error))}",
            expected="a log that is written by log4j 2, as in Pinot's own distribution",
            remedy="remove other loggers from the class path and from JAVA_OPTS",
        ) from error


def _make_policy() -> Any:
    load_java(JavaSources.of("jvm_bridge.role_host", _PACKAGE))
    return jpype.JClass(f"{_PACKAGE}.MaskSecrets")(SECRETS_IN_TEXT, MASKED_IN_JAVA)


def _mask_appenders(configuration: Any, policy: Any) -> None:
    """Replace each appender of each logger by a masking appender that wraps it."""
    loggers = {str(logger.getName()): logger for logger in configuration.getLoggers().values()}
    loggers[""] = configuration.getRootLogger()
    for logger in loggers.values():
        references = {str(reference.getRef()): reference for reference in logger.getAppenderRefs()}
        for name in [str(key) for key in logger.getAppenders().keySet()]:
            if name.startswith(_PREFIX):
                continue
            reference = references.get(name)
            level = None if reference is None else reference.getLevel()
            reference_filter = None if reference is None else reference.getFilter()
            logger.addAppender(_masking(configuration, name, policy), level, reference_filter)
            logger.removeAppender(name)
            if reference_filter is not None:
                reference_filter.start()  # removing the appender stopped it


def _masking(configuration: Any, name: str, policy: Any) -> Any:
    present = configuration.getAppender(_PREFIX + name)
    if present is not None:
        return present
    reference_class = jpype.JClass(f"{_CORE}.config.AppenderRef")
    references = jpype.JArray(reference_class)([reference_class.createAppenderRef(name, None, None)])
    appender = jpype.JClass(f"{_CORE}.appender.rewrite.RewriteAppender").createAppender(
        _PREFIX + name, "true", references, configuration, policy, None
    )
    appender.start()
    configuration.addAppender(appender)
    return appender


def _mask_or_end(configuration: Any, policy: Any) -> None:
    """Mask the appenders of a reloaded configuration; if that fails, remove them."""
    try:
        _mask_appenders(configuration, policy)
    except (*JAVA_ERRORS, TypeError, AttributeError):
        # A log with readable secrets is worse than none.
        _remove_appenders(configuration)
        sys.stderr.write(
            "the log has ended: secrets cannot be masked in the configuration that was reloaded\n"
        )


def _remove_appenders(configuration: Any) -> None:
    for each in (configuration.getRootLogger(), *configuration.getLoggers().values()):
        for name in [str(found) for found in each.getAppenders().keySet()]:
            if not name.startswith(_PREFIX):
                each.removeAppender(name)


@jpype.JImplements("java.beans.PropertyChangeListener", deferred=True)
class _OnReload:
    def __init__(self, policy: Any) -> None:
        self._policy = policy

    @overrides
    def propertyChange(self, event: Any) -> None:  # noqa: N802  # Java's name
        """Mask the appenders of a new configuration; called in the thread that read it."""
        _mask_or_end(event.getNewValue(), self._policy)
