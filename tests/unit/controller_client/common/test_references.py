from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.operator_secrets import OperatorSecrets, resolve_options
from controller_client.common.references import (
    has_reference,
    is_reference,
    literal,
    misread_by_pinot,
    only_names,
    read_value,
    replaced,
    shown,
)
from controller_client.errors import ConfigError

FOLDER = "PINOT_PLUGINS_SECRETS_DIR"


class Never:
    def variable(self, name: str) -> str:
        raise AssertionError(name)

    file = variable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "secrets"
    made.mkdir()
    (made / "key").write_text("from a file\n")
    return made


def resolve(text: str, env: Mapping[str, str]) -> str:
    return resolve_options({"secretKey": text}, "input.fs.prop.", OperatorSecrets(env))["secretKey"]


@given(st.lists(st.sampled_from(["$", "${env:", "${file:", "}", "A", " ", "\n"]), max_size=8).map("".join))
def test_a_literal_text_is_read_back_as_it_was(text: str) -> None:
    assert not has_reference(literal(text))
    assert replaced(literal(text), Never()) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:PINOT_SECRET_A}", "a"),
        (" ${env:PINOT_SECRET_A}", "a"),
        ("${env:PINOT_SECRET_A}-${file:key}", "a-from a file"),
        ("$${env:PINOT_SECRET_A}", "${env:PINOT_SECRET_A}"),
        (" kept ", " kept "),
        # The value of a reference is used literally.
        ("${env:PINOT_SECRET_LOOP}", "${env:PINOT_SECRET_A}"),
    ],
)
def test_allowed_references_are_resolved(folder: Path, text: str, expected: str) -> None:
    env = {
        "PINOT_SECRET_A": "a",
        "PINOT_SECRET_LOOP": "${env:PINOT_SECRET_A}",
        FOLDER: str(folder),
    }
    assert resolve(text, env) == expected


@pytest.mark.parametrize(
    ("text", "env", "message"),
    [
        ("${env:HOME}", {"HOME": "/root"}, "references may not use the variable HOME"),
        ("${env:PINOT_SECRET_A}", {}, "the variable PINOT_SECRET_A is not set"),
        ("${env:PINOT_SECRET_A}", {"PINOT_SECRET_A": ""}, "the variable PINOT_SECRET_A is not set"),
        ("${env:PINOT_SECRET_A\n}", {}, r"references may not use the variable PINOT_SECRET_A\n"),
        (
            "${env:PINOT_SECRET_A}",
            {"PINOT_PLUGINS_SECRETS_ENV": ""},
            "does not allow references to variables",
        ),
        ("${env:PINOT_SECRET_A}", {"PINOT_PLUGINS_SECRETS_ENV": "MY_, OUR_"}, "starts with MY_ or OUR_"),
        *(
            (f"${{env:{name}}}", {"PINOT_PLUGINS_SECRETS_ENV": "PINOT_,AIRFLOW,P", name: "hush"}, message)
            for name, message in {
                "PINOT_TOKEN": "PINOT_TOKEN: such names are settings of a process",
                "PINOT_ZOOKEEPER_PASSWORD": "settings of a process",
                "AIRFLOW__CORE__FERNET_KEY": "settings of a process",
                "AIRFLOW_CONN_PINOT": "settings of a process",
            }.items()
        ),
        ("${file:/etc/passwd}", {}, "does not allow references to files"),
        ("${file:/etc/passwd}", {FOLDER: "FOLDER"}, "references may not use the file /etc/passwd"),
        ("${file:../outside}", {FOLDER: "FOLDER"}, "references may not use the file ../outside"),
        ("${file:link}", {FOLDER: "FOLDER"}, "references may not use the file link"),
        ("${file:a\0b}", {FOLDER: "FOLDER"}, r"references may not use the file a\x00b"),
        ("${file:none}", {FOLDER: "FOLDER"}, "there is no file none"),
        ("${file:.}", {FOLDER: "FOLDER"}, "there is no file ."),
        ("${file:pipe}", {FOLDER: "FOLDER"}, "there is no file pipe"),
        ("${file:big}", {FOLDER: "FOLDER"}, "the file big is larger than 1048576 bytes"),
        ("${file:bytes}", {FOLDER: "FOLDER"}, "it is not UTF-8 text"),
        ("${file:empty}", {FOLDER: "FOLDER"}, "is empty"),
    ],
)
def test_an_unresolvable_reference_is_reported_with_its_location_and_remedy(
    folder: Path, text: str, env: dict[str, str], message: str
) -> None:
    (folder.parent / "outside").write_text("hush")
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / "big").write_bytes(b"hush" * 300_000)
    (folder / "bytes").write_bytes(b"hush\xff")
    (folder / "empty").write_text("\n")
    os.mkfifo(folder / "pipe")
    with pytest.raises(ConfigError) as caught:
        resolve(text, {key: value.replace("FOLDER", str(folder)) for key, value in env.items()})
    error = str(caught.value)
    assert error.startswith("a reference in input.fs.prop.secretKey cannot be resolved: ")
    assert message in error
    assert f"process {os.getpid()} on " in error
    assert "hush" not in error


def test_the_operators_prefixes_replace_the_default() -> None:
    env = {"PINOT_PLUGINS_SECRETS_ENV": "MY_,OUR_", "OUR_KEY": "ours", "PINOT_SECRET_A": "a"}
    assert resolve("${env:OUR_KEY}", env) == "ours"
    with pytest.raises(ConfigError):
        resolve("${env:PINOT_SECRET_A}", env)


def test_the_files_of_a_checkout_are_read_but_not_its_hidden_ones(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("hush")
    (folder / "link").symlink_to(".git/config")
    (folder / "..2026").mkdir()
    (folder / "..2026" / "mounted").write_text("m")
    (folder / "mounted").symlink_to("..2026/mounted")
    secrets = OperatorSecrets({}, folder=folder)
    assert [secrets.file("key"), secrets.file("mounted")] == ["from a file", "m"]
    for name in (".git/config", "link", "../outside"):
        with pytest.raises(ConfigError, match="references may not use the file"):
            secrets.file(name)
    assert OperatorSecrets({FOLDER: str(folder)}, folder=folder.parent).file(".git/config") == "hush"


def test_a_file_that_was_replaced_since_its_path_was_resolved_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(folder / "key")
    for name, reason in (("pipe", "not a regular file"), (".", "not a regular file"), ("link", "cannot be")):
        with pytest.raises(ConfigError, match=reason):
            read_value(folder / name, name, 100)
    assert read_value(folder / "key", "key", 100) == "from a file"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", True),
        ("${file:a} ${env:B}", True),
        (" ${env:A}", False),
        ("${env:A};x", False),
        ("${ENV:a}", False),
        ("${NAME}", False),
    ],
)
def test_a_reference_that_pinot_takes_for_a_template(text: str, expected: bool) -> None:
    assert misread_by_pinot(text) is expected


def test_a_mounted_kubernetes_secret_is_inside_its_folder(folder: Path) -> None:
    (folder / "..2026").mkdir()
    (folder / "..2026" / "token").write_text("t")
    (folder / "..data").symlink_to("..2026")
    (folder / "token").symlink_to("..data/token")
    assert resolve("${file:token}", {FOLDER: str(folder)}) == "t"


def test_references_are_shown_and_secrets_are_not() -> None:
    settings = {
        "input.fs.prop.secretKey": " ${env:PINOT_SECRET_A}",
        "input.fs.prop.accessKey": "hush${env:PINOT_SECRET_A}",
        "output.fs.prop.secretKey": "$${env:hush}",
        "inputDirURI": "s3://b/x",
    }
    assert shown(settings) == {
        "input.fs.prop.secretKey": "${env:PINOT_SECRET_A}",
        "input.fs.prop.accessKey": "***",
        "output.fs.prop.secretKey": "***",
        "inputDirURI": "s3://b/x",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", True),
        (" ${file:a} ", True),
        ("${env:A}${env:B}", True),
        ("x${env:A}", False),
        ("", False),
    ],
)
def test_a_text_made_only_of_references(text: str, expected: bool) -> None:
    assert is_reference(text) is expected


def test_a_repr_contains_no_values() -> None:
    assert "hush" not in repr(OperatorSecrets({"PINOT_SECRET_A": "hush"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${NAME}", True),
        (" ${env:A} ", True),
        ("${NAME:hush}", False),
        ("${A} hush ${B}", False),
        ("${A}hush}", False),
    ],
)
def test_a_text_without_a_value(text: str, expected: bool) -> None:
    assert only_names(text) is expected
