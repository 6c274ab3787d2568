"""The JVM of a process, with Pinot in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.jvm_bridge import child

pytestmark = pytest.mark.jvm

SECRETS = {
    "PINOT_SECRET_KEY_OF_FLIGHTS": "k",
    "PINOT_CONTROLLER_URL": "http://user:pass@host:9000",
    "AWS_SECRET_ACCESS_KEY": "k",
}
# Which variables Java sees, and which a child process of Python inherits.
SEEN = """
import subprocess
names = ["PINOT_SECRET_KEY_OF_FLIGHTS", "PINOT_CONTROLLER_URL", "AWS_SECRET_ACCESS_KEY", "PATH"]
by_java = [jpype.java.lang.System.getenv(name) is not None for name in names]
passed_on = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
inherited = [f"{name}=" in passed_on for name in names]
seen = [by_java, inherited, os.environ["PINOT_SECRET_KEY_OF_FLIGHTS"]]
"""


def test_pinot_is_in_it_with_flags_and_properties_and_ctrl_c_stays_with_python(tmp_path: Path) -> None:
    code = f"""
import json, os, signal, threading
from pathlib import Path
from jvm_bridge.jvm import running_jars, start_jvm
def start():
    start_jvm(max_heap_mb=100, system_properties={{"a.b": "ü c"}}, log_dir=Path({str(tmp_path)!r}))
threads = [threading.Thread(target=start) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
import jpype
schema = jpype.JClass("org.apache.pinot.spi.data.Schema").fromString('{{"schemaName": "s"}}')
jpype.JClass("org.slf4j.LoggerFactory").getLogger("org.apache.pinot.x").info("a line for the file")
{SEEN}
try:
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(60)
except KeyboardInterrupt:
    print(json.dumps({{
        "schema": str(schema.getSchemaName()),
        "heap": int(jpype.java.lang.Runtime.getRuntime().maxMemory()) >> 20,
        "properties": [str(jpype.java.lang.System.getProperty(name)) for name in ("a.b", "of.options")],
        "version": running_jars().version,
        "seen": seen,
    }}))
"""
    options = {"PINOT_PLUGINS_JAVA_OPTS": "-Xmx64m -XX:+UseSerialGC '-Dof.options=c d'"}
    found = child.result(code, env=options | SECRETS)
    assert found["schema"] == "s"
    assert 40 <= found["heap"] <= 64, "the options of the environment come last"
    assert found["properties"] == ["ü c", "c d"]
    assert found["version"]
    assert found["seen"] == [[True] * 4, [True] * 4, "k"]
    assert "a line for the file" in (tmp_path / "jvm.log").read_text()


def test_a_jvm_that_cannot_be_started_is_a_clear_error(tmp_path: Path) -> None:
    """All in one process: none of the refusals prevents a later start."""
    errors = child.result(
        f"""
        import json, os
        from controller_client.errors import PinotPluginError
        from jvm_bridge.jvm import start_jvm
        errors = []
        def refused(variable, text, **settings):
            given = os.environ.get(variable)
            os.environ[variable] = text
            try:
                start_jvm(**settings)
            except PinotPluginError as error:
                errors.append(f"{{type(error).__name__}}: {{error}}")
            os.environ.pop(variable)
            if given is not None:
                os.environ[variable] = given
        refused("PINOT_PLUGINS_JAVA_OPTS", "-Da='b")
        refused("JAVA_HOME", {str(tmp_path / "none")!r})
        refused("PINOT_PLUGINS_JAVA_OPTS", "", max_heap_mb=10**9)
        import jpype
        from jvm_bridge.jdk import find_java
        jpype.startJVM("-Xmx64m", jvmpath=str(find_java().jvm_library), interrupt=False)
        refused("PINOT_PLUGINS_JAVA_OPTS", "")
        print(json.dumps(errors))
        """
    )
    expected = (
        "ConfigError: PINOT_PLUGINS_JAVA_OPTS cannot be parsed: No closing quotation",
        "SetupError: JAVA_HOME is not a Java installation",
        "SetupError: a heap of 1000000000 MiB is more than this machine's memory",
        "SetupError: this process already has a JVM, without Pinot's jars",
    )
    assert len(errors) == len(expected)
    for error, text in zip(errors, expected, strict=True):
        assert error.startswith(text), error


def test_java_of_a_role_hides_secrets_reads_its_arguments_and_understands_cron() -> None:
    code = f"""
import json, os
from controller_client.errors import ConfigError
from jvm_bridge.cron import CronSchedule
from jvm_bridge.jvm import start_jvm
start_jvm(max_heap_mb=100, is_role=True)
import jpype
from jvm_bridge.role_host import SERVER
from jvm_bridge.role_host.configuration import read_configuration
{SEEN}
refused = []
for arguments in (["-noSuchOption", "x"], ["-configFileName", "/no/such/server.conf"]):
    try:
        read_configuration(SERVER, arguments)
    except ConfigError as error:
        refused.append(str(error))
wrong = []
for text in ("", "* * * * *", "0 61 * * * ?", "0 0 0 ? * 1,2#1 x", "0 0 \U0001f98a * * ?"):
    try:
        CronSchedule(text)
    except ConfigError as error:
        wrong.append(text)
        assert error.message.startswith(repr(text)), error
every_ten = CronSchedule("0 */10 * * * ?")
times = [every_ten.next_after(1_700_000_000.7), every_ten.next_after(1_700_000_400.0)]
times.append(CronSchedule("0 0 0 1 1 ? 2001").next_after(1_700_000_000.0))
heap = int(jpype.java.lang.Runtime.getRuntime().maxMemory()) >> 20
print(json.dumps([seen, heap, refused, wrong, times]))
"""
    seen, heap, (no_option, no_file), wrong, times = child.result(code, env={"TZ": "UTC", **SECRETS})
    assert seen == [[False, False, False, True], [False, False, False, True], "k"]
    assert 80 <= heap <= 100
    assert "rejects the arguments of the server: Unknown options: '-noSuchOption', 'x'" in no_option
    assert "the configuration file of the server does not exist" in no_file
    assert wrong == ["", "* * * * *", "0 61 * * * ?", "0 0 0 ? * 1,2#1 x", "0 0 \U0001f98a * * ?"]
    assert times == [1_700_000_400.0, 1_700_001_000.0, None]
