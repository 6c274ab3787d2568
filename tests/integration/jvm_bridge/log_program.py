"""Writes secrets into log4j's log, by its own configuration or by a user's; run as a child process.

Arguments: ``user`` or ``own``, and a folder for the logs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jpype

from jvm_bridge.java_errors import JAVA_ERRORS
from jvm_bridge.jvm import start_jvm, start_jvm_with
from jvm_bridge.role_host.masked_log import mask_log

SECRET = "hush"
LINES = (
    f"InstanceDataManagerConfig, key: a.secretKey , value: {SECRET}, {SECRET}",
    f"Start running x with configs: {{input.fs.prop.secretKey={SECRET}, b=c}}",
    f'{{"secretKey":"{SECRET}", "b": 1}}',
    f"sent Authorization: Basic {SECRET}1234",
    f"GET https://host/container?sv=1&sig={SECRET}&se=2",
    f"read -----BEGIN PRIVATE KEY-----{SECRET}-{SECRET}-----END PRIVATE KEY-----",
    f"signed by eyJhbGciOiJIUzI1NiJ9{SECRET}.eyJzdWIiOiJ1cyJ9{SECRET}.c2ln{SECRET}",
    f"sasl.pwd={SECRET}",
)
# Text that would overflow the stack or take forever with an unsuitable regular expression.
LONG = (
    'secretKey="' + "\\x" * 100_000,
    "a" * 500_000,
    '"' * 200_000,
    "secret" * 50_000,
    "secretKey=" + " " * 200_000,
    "-----BEGIN PRIVATE KEY-----" + "-" * 200_000,
    "eyJ" * 100_000,
)


def _configuration(folder: Path, mark: str) -> str:
    """A configuration with appenders of several kinds, with levels, filters and a logger of its own."""
    return f"""<Configuration>
  <Appenders>
    <File name="plain" fileName="{folder}/plain.log"><PatternLayout pattern="{mark} %p %m%n"/></File>
    <File name="late" fileName="{folder}/late.log"><PatternLayout pattern="{mark} %p %m%n"/></File>
    <Async name="async"><AppenderRef ref="late"/></Async>
  </Appenders>
  <Loggers>
    <Logger name="own" level="debug" additivity="false"><AppenderRef ref="plain" level="warn"/></Logger>
    <Root level="info">
      <AppenderRef ref="plain"/>
      <AppenderRef ref="async"><ThresholdFilter level="error"/></AppenderRef>
    </Root>
  </Loggers>
</Configuration>"""


def _write(name: str) -> None:
    logger = jpype.JClass("org.slf4j.LoggerFactory").getLogger(name)
    for line in LINES:
        for level in ("debug", "info", "warn", "error"):
            getattr(logger, level)(jpype.JString(line))
    try:
        jpype.JClass("java.lang.Integer").parseInt(f"password={SECRET}")
    except JAVA_ERRORS as error:
        logger.error("failed", error)
        logger.error("failed", jpype.JClass("java.lang.RuntimeException")("around it", error))


def _contexts() -> Any:
    manager = jpype.JClass("org.apache.logging.log4j.LogManager")
    return manager, list(manager.getFactory().getSelector().getLoggerContexts())


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    if kind == "own":
        start_jvm(log_dir=folder)
        _write("some.Class")
        return
    file = folder / "log4j2.xml"
    file.write_text(_configuration(folder, "first"))
    start_jvm_with([f"-Dlog4j2.configurationFile={file}", "-Xmx256m", "-Xss512k"])
    mask_log()
    _write("some.Class")
    _write("own")
    logger = jpype.JClass("org.slf4j.LoggerFactory").getLogger("own")
    for text in LONG:
        logger.warn(jpype.JString(text))
    file.write_text(_configuration(folder, "second"))
    manager, contexts = _contexts()
    for context in contexts:
        context.reconfigure()
    _write("some.Class")
    manager.shutdown()


if __name__ == "__main__":
    main()
