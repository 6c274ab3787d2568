"""The JVM options of a hosted role: the same that its start script and the program ``java`` would pass."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from controller_client.errors import ConfigError
from jvm_bridge.jvm import logging_options

__all__ = ["java_options", "java_options_but_log"]

_LOG_PROPERTIES = ("-Dlog4j2.configurationFile=", "-Dlog4j.configurationFile=")
_PLUGINS_DIR, _PLUGINS_INCLUDE = "-Dplugins.dir=", "-Dplugins.include="

# Options that the program `java` handles itself, and that the JVM would reject.
_CHOICES_OF_JVM = frozenset({"-server", "-client"})
_CLASS_PATH = frozenset({"-cp", "-classpath", "--class-path"})  # the script's own comes later and wins
_MODULES = frozenset(
    {
        *("--add-exports", "--add-modules", "--add-opens", "--add-reads", "--enable-native-access"),
        *("--limit-modules", "--module-path", "--patch-module", "--upgrade-module-path"),
    }
)


def java_options(env: Mapping[str, str], log_level: str) -> list[str]:
    """Return the options that a stock role gets in the same environment, with those of the log.

    ``JDK_JAVA_OPTIONS`` comes first, as for every ``java``; then ``JAVA_OPTS``, split at white space without
    regard to quotes, as in ``pinot-admin.sh``. ``@file`` is replaced by the options in a file.

    The log is configured by the option ``-Dlog4j2.configurationFile=...``, else by ``conf/log4j2.xml`` of
    ``PINOT_HOME``; otherwise it goes to stderr.

    Args:
        env: The environment.
        log_level: Level of a log to stderr, e.g. ``info``.

    Raises:
        ConfigError: JDK_JAVA_OPTIONS has unbalanced quotes, a file cannot be read, or a value is missing.
    """
    options = _given(env)
    return [*options, *_plugin_options(options, env), *_log_options(options, env, log_level)]


def java_options_but_log(env: Mapping[str, str]) -> list[str]:
    """Return the options in ``JDK_JAVA_OPTIONS`` and ``JAVA_OPTS``, without those that configure the log.

    Raises:
        ConfigError: See :func:`java_options`.
    """
    return [option for option in _given(env) if not option.startswith(_LOG_PROPERTIES)]


def _given(env: Mapping[str, str]) -> list[str]:
    words = [
        *_quoted(env.get("JDK_JAVA_OPTIONS", ""), "JDK_JAVA_OPTIONS"),
        *env.get("JAVA_OPTS", "").split(),
    ]
    return list(_for_jvm(_expanded(words)))


def _expanded(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("@@") or not word.startswith("@"):
            yield word.removeprefix("@") if word.startswith("@@") else word
            continue
        try:
            text = Path(word[1:]).read_text()
        except OSError as error:
            raise ConfigError(f"the file of Java options cannot be read: {error}", where=word) from error
        yield from _quoted(text, word)


def _for_jvm(words: Iterable[str]) -> Iterator[str]:
    remaining = iter(words)
    for word in remaining:
        if word in _CHOICES_OF_JVM:
            continue
        if word not in _CLASS_PATH and word not in _MODULES:
            yield word
            continue
        value = next(remaining, None)
        if value is None:
            raise ConfigError(f"the Java option {word} has no value", where="JAVA_OPTS or JDK_JAVA_OPTIONS")
        if word in _MODULES:
            yield f"{word}={value}"


def _plugin_options(options: list[str], env: Mapping[str, str]) -> list[str]:
    """Return the options for the plugins of ``PluginManager``, the same as those of the script."""
    plugin_options = []
    if not any(option.startswith(_PLUGINS_DIR) for option in options):
        if env.get("PLUGINS_DIR"):
            plugin_options.append(f"{_PLUGINS_DIR}{env['PLUGINS_DIR']}")
        elif env.get("PINOT_HOME") and (own := Path(env["PINOT_HOME"]).expanduser() / "plugins").is_dir():
            plugin_options.append(f"{_PLUGINS_DIR}{own}")
    if env.get("PLUGINS_INCLUDE") and not any(option.startswith(_PLUGINS_INCLUDE) for option in options):
        plugin_options.append(f"{_PLUGINS_INCLUDE}{env['PLUGINS_INCLUDE']}")
    return plugin_options


def _log_options(options: list[str], env: Mapping[str, str], level: str) -> list[str]:
    if any(option.startswith(_LOG_PROPERTIES) for option in options):
        return []
    if env.get("PINOT_HOME"):
        stock = Path(env["PINOT_HOME"]).expanduser() / "conf" / "log4j2.xml"
        if stock.is_file():
            return [f"{_LOG_PROPERTIES[0]}{stock}"]
    return logging_options(level=level)


def _quoted(text: str, where: str) -> list[str]:
    try:
        return shlex.split(text, comments=where.startswith("@"))
    except ValueError as error:
        raise ConfigError(
            f"{where} cannot be parsed: {error}", expected="options with balanced quotes"
        ) from error
