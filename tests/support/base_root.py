"""Root file system of the base image, made from this machine: Java by jlink, a shell, and their libraries.

Nothing is downloaded, so it works without an image registry or a package mirror.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from jvm_bridge.jdk import find_java

# Not listed by ldd: native code in jars needs them (Zstandard's needs that of threads, empty in a new glibc).
_LOADED_LATER = ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "libpthread.so.0")
_ARROW = re.compile(r"(?:=>\s*)?(/\S+)\s+\(0x")


def java_release() -> str:
    """Return the text that identifies the host's Java build, for the tag of the image made from it."""
    return (find_java().home / "release").read_text(encoding="utf-8")


def make_root(root: Path) -> None:
    """Fill an empty folder.

    Raises:
        RuntimeError: The host's Java is a runtime without jlink.
    """
    home = find_java().home
    jlink = home / "bin" / "jlink"
    if not jlink.exists():
        raise RuntimeError(f"{home} has no bin/jlink; what to do: install a JDK (not only a JRE)")
    java = root / "opt" / "java"
    java.parent.mkdir(parents=True)
    _run(
        str(jlink),
        "--add-modules",
        "ALL-MODULE-PATH",
        "--no-header-files",
        "--no-man-pages",
        "--output",
        str(java),
    )
    # The archive of Java's own classes: with it, a JVM starts in half the time.
    _run(str(java / "bin" / "java"), "-Xshare:dump")
    shell = Path("/bin/sh").resolve()
    (root / "bin").mkdir()
    shutil.copy2(shell, root / "bin" / "sh")
    programs = [shell, java / "bin" / "java", java / "lib" / "jspawnhelper", *sorted(java.rglob("*.so"))]
    for library in sorted(libraries_of(programs, java)):
        target = root / library.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library.resolve(), target)
    (root / "tmp").mkdir(mode=0o1777)
    (root / "tmp").chmod(0o1777)
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    (etc / "group").write_text("root:x:0:\n", encoding="utf-8")
    (etc / "nsswitch.conf").write_text("hosts: files dns\n", encoding="utf-8")


def libraries_of(programs: list[Path], but: Path) -> set[Path]:
    """Return the shared libraries of programs and of what they load later, except those below a folder."""
    found: set[Path] = set()
    for program in programs:
        listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
        found.update(Path(match) for match in _ARROW.findall(listed))
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for line in cache.splitlines():
        name, _, path = line.strip().partition(" => ")
        if name.split(" ")[0] in _LOADED_LATER and "x32" not in name:
            found.add(Path(path))
    return {library for library in found if not library.is_relative_to(but)}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}"
        )
