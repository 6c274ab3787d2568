"""A Java agent that prints a line when it is loaded."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

from jvm_bridge.jdk import find_java

JAR = "agent.jar"
SAYS = "agent of a test: "

_SOURCE = f"""
public final class TestAgent {{
    public static void premain(String argument) {{
        System.err.println("{SAYS}" + argument);
    }}
}}
"""


def agent_jar(folder: Path) -> bytes:
    """Compile the agent and return its jar."""
    source = folder / "TestAgent.java"
    source.write_text(_SOURCE)
    javac = str(find_java().home / "bin" / "javac")
    subprocess.run([javac, "--release", "11", "-d", str(folder), str(source)], check=True, timeout=300)
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: TestAgent\n")
        archive.write(folder / "TestAgent.class", "TestAgent.class")
    return jar.getvalue()
