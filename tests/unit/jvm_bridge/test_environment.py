"""The environment variables that Java sees."""

from __future__ import annotations

import ctypes
import logging
import os
from pathlib import Path

import pytest

from jvm_bridge.environment import hidden_from_java, keep_from_java


def seen_outside_of_python(name: str) -> str | None:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    found: bytes | None = getenv(name.encode())
    return None if found is None else found.decode()


def test_variables_for_references_are_hidden_from_java(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = {"PINOT_SECRET_FLIGHTS_KEY": "hush", "PINOT_CONTROLLER_URL": "http://user:hush@host:9000"}
    for name, value in {**hidden, "PINOT_OTHER": "o"}.items():
        monkeypatch.setenv(name, value)
        assert seen_outside_of_python(name) == value
    with caplog.at_level(logging.INFO):
        keep_from_java()
    assert {name: seen_outside_of_python(name) for name in hidden} == dict.fromkeys(hidden)
    assert {name: os.environ[name] for name in hidden} == hidden
    assert seen_outside_of_python("PINOT_OTHER") == "o"
    assert all(name in caplog.text for name in hidden)
    assert "hush" not in caplog.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_SECRET_ACCESS_KEY", "/is/no/such/path"),
        ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=b"),
        ("PINOT_PASSWORD", "x"),
        ("PINOT_PLUGINS_MAVEN_REPOSITORY", "https://u:p@host/maven"),
        ("HTTPS_PROXY", "http://u:p@proxy:3128"),
        ("JAVA_OPTS", "-Xmx1g -Djavax.net.ssl.keyStorePassword=x"),
        ("DB_PWD", "x"),
        ("CLIENT_CERT", "-----BEGIN PRIVATE KEY-----\nMIIE"),
        ("LICENCE", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9."),
        ("TEAM_S3", "x"),
        ("REGISTRY_TOKEN_URL", "https://u:p@host/token"),
    ],
)
def test_variables_whose_name_or_value_looks_secret_are_hidden_from_java(name: str, value: str) -> None:
    environ = {"PINOT_PLUGINS_SECRETS_ENV": "TEAM_", name: value}
    assert hidden_from_java(environ) == [name]
    # Pinot's own file systems may need one.
    assert hidden_from_java({**environ, "PINOT_PLUGINS_JAVA_ENV": f"X, {name}"}) == []


def test_java_sees_all_other_variables(tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    key.write_text("{}")
    environ = {
        "PATH": "/usr/bin:/bin",
        "PWD": "/opt/pinot",
        "OLDPWD": "/",
        "AWS_REGION": "eu-central-1",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/x",
        "GOOGLE_APPLICATION_CREDENTIALS": str(key),
        "HTTPS_PROXY": "http://proxy:3128",
        "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.keyStorePassword=x",
        "PINOT_CONTROLLER_URL": "http://host:9000",
        "PINOT_PLUGINS_SECRETS_DIR": str(tmp_path),
        "PINOT_ZOOKEEPER_CLIENT_KEY_FILE": "/etc/zookeeper/key.pem",
        "TEXT_IN_LATIN": "\udce9",
    }
    assert hidden_from_java(environ) == []
