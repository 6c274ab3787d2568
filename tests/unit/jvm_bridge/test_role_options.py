from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.errors import ConfigError
from jvm_bridge.role_host import java_options

LOG = "-Dlog4j2.configurationFile=/etc/log.xml"


def test_java_opts_are_split_at_white_space_like_the_stock_script() -> None:
    options = java_options({"JAVA_OPTS": f'  -Xmx1G\t-Da="b c" -Dpattern=\\d+ {LOG}\n'}, "info")
    assert options == ["-Xmx1G", '-Da="b', 'c"', "-Dpattern=\\d+", LOG]


def test_jdk_java_options_come_first_and_may_be_quoted() -> None:
    options = java_options({"JDK_JAVA_OPTIONS": "-Da='b c' -Xmx1G", "JAVA_OPTS": f"-Xmx2G {LOG}"}, "info")
    assert options == ["-Da=b c", "-Xmx1G", "-Xmx2G", LOG]


def test_options_of_the_java_launcher_do_not_reach_the_jvm() -> None:
    given = f"-server -cp /a.jar --add-opens java.base/java.nio=ALL-UNNAMED -classpath /b.jar {LOG} -client"
    assert java_options({"JAVA_OPTS": given}, "info") == ["--add-opens=java.base/java.nio=ALL-UNNAMED", LOG]


def test_options_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "jvm.options"
    file.write_text(f"# heap\n-Xmx1G -Da='b c'\n{LOG}\n")
    options = java_options({"JAVA_OPTS": f"-Xms1G @{file} -Dlast=1"}, "info")
    assert options == ["-Xms1G", "-Xmx1G", "-Da=b c", LOG, "-Dlast=1"]


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"JDK_JAVA_OPTIONS": "-Da='b"}, "JDK_JAVA_OPTIONS cannot be parsed"),
        ({"JAVA_OPTS": "@/no/such/file"}, "/no/such/file"),
        ({"JAVA_OPTS": "-Xmx1G --add-opens"}, "--add-opens has no value"),
    ],
)
def test_options_that_cannot_be_parsed(env: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        java_options(env, "info")


def test_the_log_goes_where_the_option_says(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "log4j2.xml").touch()
    home = {"PINOT_HOME": str(tmp_path)}
    assert java_options({**home, "JAVA_OPTS": LOG}, "info") == [LOG]
    old = "-Dlog4j.configurationFile=/etc/log.xml"
    assert java_options({**home, "JAVA_OPTS": old}, "info") == [old]


def test_otherwise_the_log_follows_the_distributions_configuration_or_goes_to_stderr(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "log4j2.xml"
    env = {"PINOT_HOME": str(tmp_path)}
    options = java_options(env, "debug")
    assert "-DpinotPlugins.log.level=debug" in options
    assert "-DpinotPlugins.log.appender=stderr" in options
    file.touch()
    assert java_options(env, "debug") == [f"-Dlog4j2.configurationFile={file}"]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ["-Dplugins.dir={home}/plugins"]),
        (
            {"PLUGINS_DIR": "/a;/b", "PLUGINS_INCLUDE": "x;y"},
            ["-Dplugins.dir=/a;/b", "-Dplugins.include=x;y"],
        ),
        ({"JAVA_OPTS": f"{LOG} -Dplugins.dir=/c", "PLUGINS_DIR": "/a"}, []),
    ],
)
def test_the_folders_of_plugins(tmp_path: Path, env: dict[str, str], expected: list[str]) -> None:
    (tmp_path / "plugins").mkdir()
    options = java_options({"PINOT_HOME": str(tmp_path), "JAVA_OPTS": LOG, **env}, "info")
    given = env.get("JAVA_OPTS", LOG).split()
    assert options == [*given, *(word.format(home=tmp_path) for word in expected)]
