from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.errors import SetupError
from jvm_bridge.jdk import find_java, module_flags, parse_java_version
from jvm_bridge.jvm import check_jars_fit, logging_options


def java(home: Path, *, version: str | None, output: str = "") -> Path:
    """A Java installation that states its version in its release file, or when it is run."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho '{output}' >&2\n")
    executable.chmod(0o755)
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.8.0_402", 8), ("11.0.22", 11), ("17.0.15", 17), ("17-ea", 17), ("21", 21), ("25.0.1+8", 25)],
)
def test_versions(text: str, version: int) -> None:
    assert parse_java_version(text) == version


@pytest.mark.parametrize("text", ["", "x", "seventeen"])
def test_no_version(text: str) -> None:
    with pytest.raises(SetupError, match="Java version"):
        parse_java_version(text)


def test_java_home_wins(tmp_path: Path) -> None:
    home = java(tmp_path / "seventeen", version="17.0.15")
    path = java(tmp_path / "eleven", version="11.0.2") / "bin"
    found = find_java({"JAVA_HOME": str(home), "PATH": str(path)})
    assert (found.version, found.home, found.found_by) == (17, home, "JAVA_HOME")


def test_the_path_is_followed_to_the_installation(tmp_path: Path) -> None:
    home = java(tmp_path / "jdk", version="21.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    found = find_java({"PATH": str(tmp_path / "bin")})
    assert (found.version, found.home, found.found_by) == (21, home, "PATH")


def test_a_java_without_a_release_file_is_run(tmp_path: Path) -> None:
    home = java(tmp_path, version=None, output='openjdk version "11.0.20" 2023-07-18')
    assert find_java({"JAVA_HOME": str(home)}).version_text == "11.0.20"


def test_too_old(tmp_path: Path) -> None:
    home = java(tmp_path, version="1.8.0_402")
    with pytest.raises(SetupError, match=r"1\.8\.0_402") as caught:
        find_java({"JAVA_HOME": str(home)})
    assert caught.value.expected == "Java 11 or newer"
    assert caught.value.where == str(home / "bin" / "java")


def test_no_java_at_all(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no Java") as caught:
        find_java({"PATH": str(tmp_path)})
    assert "JAVA_HOME" in (caught.value.remedy or "")


def test_a_wrong_java_home_is_not_ignored(tmp_path: Path) -> None:
    path = java(tmp_path / "eleven", version="11.0.2") / "bin"
    with pytest.raises(SetupError, match="JAVA_HOME"):
        find_java({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": str(path)})


def test_a_jre_without_jvm_library(tmp_path: Path) -> None:
    found = find_java({"JAVA_HOME": str(java(tmp_path, version="17.0.1"))})
    with pytest.raises(SetupError, match="libjvm"):
        _ = found.jvm_library


def test_flags_open_modules_from_jdk_17_on() -> None:
    assert module_flags(11) == []
    assert "--add-opens=java.base/java.nio=ALL-UNNAMED" in module_flags(17)
    assert "--enable-native-access=ALL-UNNAMED" not in module_flags(21)
    assert "--enable-native-access=ALL-UNNAMED" in module_flags(25)


@pytest.mark.parametrize(
    ("jars", "cluster"), [("1.2.0", "1.1.0"), ("1.0.0", "0.12.0"), ("0.12.0", "0.11.0-1b4d")]
)
def test_newer_jars_than_the_cluster_are_refused(jars: str, cluster: str) -> None:
    with pytest.raises(SetupError, match=f"the cluster is {cluster}"):
        check_jars_fit(jars, cluster)


def test_older_jars_cause_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    check_jars_fit("0.11.0", "1.2.0")
    assert "PINOT_HOME" in caplog.text


def test_matching_jars_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    check_jars_fit("0.11.0", "0.11.3-SNAPSHOT")
    assert caplog.text == ""


def test_logging_goes_to_the_given_file(tmp_path: Path) -> None:
    to_file = dict(option.removeprefix("-D").split("=", 1) for option in logging_options(tmp_path / "x.log"))
    assert to_file["pinotPlugins.log.appender"] == "file"
    assert to_file["pinotPlugins.log.file"] == str(tmp_path / "x.log")
    assert Path(to_file["log4j2.configurationFile"]).is_file()


def test_without_a_file_warnings_are_logged() -> None:
    assert "-DpinotPlugins.log.level=warn" in logging_options()
