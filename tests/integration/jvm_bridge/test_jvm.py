"""The JVM of a process, with Pinot in it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.jvm_bridge import child

pytestmark = pytest.mark.jvm


def test_pinot_is_in_it_with_flags_and_properties(tmp_path: Path) -> None:
    found = child.result(
        f"""
        import json, threading
        from pathlib import Path
        from jvm_bridge.jvm import running_jars, start_jvm
        folder = Path({str(tmp_path)!r})
        def start():
            start_jvm(max_heap_mb=100, system_properties={{"a.b": "ü c"}}, log_dir=folder)
        threads = [threading.Thread(target=start) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        import jpype
        schema = jpype.JClass("org.apache.pinot.spi.data.Schema").fromString('{{"schemaName": "s"}}')
        jpype.JClass("org.slf4j.LoggerFactory").getLogger("org.apache.pinot.x").info("a line for the file")
        print(json.dumps({{
            "schema": str(schema.getSchemaName()),
            "heap": int(jpype.java.lang.Runtime.getRuntime().maxMemory()) >> 20,
            "property": str(jpype.java.lang.System.getProperty("a.b")),
            "version": running_jars().version,
        }}))
        """
    )
    assert found["schema"] == "s"
    assert 80 <= found["heap"] <= 100
    assert found["property"] == "ü c"
    assert found["version"]
    assert "a line for the file" in (tmp_path / "jvm.log").read_text()


def test_the_environment_adds_options(tmp_path: Path) -> None:
    found = child.result(
        """
        import json
        from jvm_bridge.jvm import start_jvm
        start_jvm(max_heap_mb=100)
        import jpype
        print(json.dumps({
            "heap": int(jpype.java.lang.Runtime.getRuntime().maxMemory()) >> 20,
            "property": str(jpype.java.lang.System.getProperty("a.b")),
        }))
        """,
        env={"PINOT_PLUGINS_JAVA_OPTS": "-Xmx64m -XX:+UseSerialGC '-Da.b=c d'"},
    )
    assert found["property"] == "c d"
    assert found["heap"] <= 64

    process = child.run(
        "from jvm_bridge.jvm import start_jvm; start_jvm()", env={"PINOT_PLUGINS_JAVA_OPTS": "-Da='b"}
    )
    assert process.returncode == 1
    assert "ConfigError: PINOT_PLUGINS_JAVA_OPTS cannot be parsed: No closing quotation" in process.stderr


def test_ctrl_c_stays_with_python() -> None:
    code = """
import signal
from jvm_bridge.jvm import start_jvm
start_jvm(max_heap_mb=64)
try:
    print("ready", flush=True)
    while True:
        signal.pause()
except KeyboardInterrupt:
    print("python saw it", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300)[0] == "python saw it\n"
    assert process.returncode == 0


def test_no_java_is_a_clear_error(tmp_path: Path) -> None:
    process = child.run(
        "from jvm_bridge.jvm import start_jvm; start_jvm()", env={"JAVA_HOME": str(tmp_path / "none")}
    )
    assert process.returncode == 1
    assert "SetupError: JAVA_HOME is not a Java installation" in process.stderr


def test_a_foreign_jvm_without_pinot_is_refused() -> None:
    process = child.run(
        """
        import jpype
        jpype.startJVM("-Xmx64m", interrupt=False)
        from jvm_bridge.jvm import start_jvm
        start_jvm()
        """
    )
    assert process.returncode == 1
    assert "SetupError: This process already has a JVM, without Pinot's jars" in process.stderr


def test_a_heap_that_the_jvm_refuses_is_an_error() -> None:
    process = child.run("from jvm_bridge.jvm import start_jvm; start_jvm(max_heap_mb=10**9)")
    assert process.returncode == 1
    assert "SetupError: A heap of 1000000000 MiB is more than this machine's memory" in process.stderr


def test_cron_expressions_are_quartzs() -> None:
    found = child.result(
        """
        import json
        from controller_client.errors import ConfigError
        from jvm_bridge.cron import CronSchedule
        wrong = []
        for text in ("", "* * * * *", "0 61 * * * ?", "0 0 0 ? * 1,2#1 x"):
            try:
                CronSchedule(text)
            except ConfigError as error:
                wrong.append(text)
                assert error.message.startswith(repr(text)), error
        every_ten = CronSchedule("0 */10 * * * ?")
        print(json.dumps({
            "wrong": wrong,
            "next": every_ten.next_after(1_700_000_000.7),
            "after": every_ten.next_after(1_700_000_400.0),
            "never": CronSchedule("0 0 0 1 1 ? 2001").next_after(1_700_000_000.0),
        }))
        """,
        env={"TZ": "UTC"},
    )
    assert found["wrong"] == ["", "* * * * *", "0 61 * * * ?", "0 0 0 ? * 1,2#1 x"]
    assert found["next"] == 1_700_000_400.0
    assert found["after"] == 1_700_001_000.0
    assert found["never"] is None


@pytest.mark.parametrize("is_role", [False, True])
def test_java_of_a_role_does_not_see_variables_for_references(is_role: bool) -> None:
    found = child.result(
        f"""
        import json, os, subprocess
        from jvm_bridge.jvm import start_jvm
        start_jvm(max_heap_mb=100, is_role={is_role})
        import jpype
        names = ["PINOT_SECRET_KEY_OF_FLIGHTS", "PINOT_CONTROLLER_URL", "PATH"]
        seen = [jpype.java.lang.System.getenv(name) is not None for name in names]
        passed_on = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
        inherited = [f"{{name}}=" in passed_on for name in names]
        print(json.dumps([seen, inherited, os.environ["PINOT_SECRET_KEY_OF_FLIGHTS"]]))
        """,
        env={"PINOT_SECRET_KEY_OF_FLIGHTS": "k", "PINOT_CONTROLLER_URL": "http://user:pass@host:9000"},
    )
    there = [not is_role, not is_role, True]
    assert found == [there, there, "k"]
