"""Connection settings lead to the same configuration or refusal wherever they are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.common.parallel import ENGINE_VARIABLE
from controller_client.config import BasicAuth, BearerToken, ControllerConfig, Secret, Tls
from controller_client.connection_settings import CONNECTION_SETTINGS, variable_of
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from pinot_airflow.access import EXTRAS, ClusterAddress
from pinotctl.context import CliContext
from pinotctl.settings import SETTINGS
from spark_connectors.options import ReadOptions
from spark_connectors.options.declared import declared, parse_options

Read = Callable[[Mapping[str, str], Path], tuple[ControllerConfig, ZooKeeperAccess]]

_SPARK_NAMES = {
    "token": "authToken",
    "ca_file": "tlsCaFile",
    "client_cert_file": "tlsClientCertFile",
    "client_key_file": "tlsClientKeyFile",
    "tls_verify": "tlsVerify",
    "connect_timeout_s": "connectTimeoutMs",
    "read_timeout_s": "readTimeoutMs",
}


def by_environment(settings: Mapping[str, str], _folder: Path) -> tuple[ControllerConfig, ZooKeeperAccess]:
    environment = {variable_of(name): value for name, value in settings.items()}
    return ControllerConfig.from_env(environ=environment), ZooKeeperAccess.from_env(environment)


def by_variables_of_pinotctl(
    settings: Mapping[str, str], folder: Path
) -> tuple[ControllerConfig, ZooKeeperAccess]:
    environment = {variable_of(name): value for name, value in settings.items()}
    return _of_pinotctl({"PINOTCTL_CONFIG": str(folder / "none"), **environment})


def by_profile(settings: Mapping[str, str], folder: Path) -> tuple[ControllerConfig, ZooKeeperAccess]:
    lines = ["[default]"]
    for name, value in settings.items():
        key, text = "user" if name == "username" else name, value
        if name.endswith(("password", "token")):
            key, text = f"{name}_file", str(folder / name)
            Path(text).write_text(value)
        lines.append(f"{key} = {json.dumps(text)}")
    (folder / "profiles.toml").write_text("\n".join(lines))
    return _of_pinotctl({"PINOTCTL_CONFIG": str(folder / "profiles.toml")})


def by_airflow(settings: Mapping[str, str], _folder: Path) -> tuple[ControllerConfig, ZooKeeperAccess]:
    fields = ("controller", "username", "password")
    connection: Any = SimpleNamespace(
        conn_id="pinot",
        host=settings["controller"],
        port=None,
        schema=None,
        login=settings.get("username"),
        password=settings.get("password"),
        extra_dejson={name: value for name, value in settings.items() if name not in fields},
    )
    address = ClusterAddress.of(connection)
    return address.controller, address.access or ZooKeeperAccess()


def by_spark(settings: Mapping[str, str], _folder: Path) -> tuple[ControllerConfig, ZooKeeperAccess]:
    options = {"table": "t", "grpcUsePlainText": "true"}  # gRPC always verifies certificates
    for name, value in settings.items():
        text = value
        if name.endswith("_timeout_s"):
            text = str(int(float(value) * 1000)) if value.replace(".", "").isdigit() else value
        options[_spark_name(name)] = text
    made = parse_options(ReadOptions, options)
    return made.controller_config(), made.zookeeper_access() or ZooKeeperAccess()


def _of_pinotctl(environment: dict[str, str]) -> tuple[ControllerConfig, ZooKeeperAccess]:
    context = CliContext(environment)
    context.configure({}, None, 0)
    return context.controller_config(), context.zookeeper_access()


def _spark_name(name: str) -> str:
    if name in _SPARK_NAMES:
        return _SPARK_NAMES[name]
    of_zookeeper = name.removeprefix("zookeeper_")
    first, *rest = of_zookeeper.split("_")
    key = first + "".join(part.capitalize() for part in rest)
    return key if of_zookeeper == name else f"zookeeper.{key}"


PLACES = pytest.mark.parametrize(
    "read", [by_environment, by_variables_of_pinotctl, by_profile, by_airflow, by_spark]
)


@PLACES
def test_all_settings_are_read(read: Read, tmp_path: Path) -> None:
    config, access = read(
        {
            "controller": "https://one:9000",
            "username": "me",
            "password": "hush",
            "ca_file": "/ca.pem",
            "client_cert_file": "/cert.pem",
            "client_key_file": "/key.pem",
            "tls_verify": "False",
            "connect_timeout_s": "2.5",
            "read_timeout_s": "70",
            "zookeeper_tls": "true",
            "zookeeper_ca_file": "/zk-ca.pem",
            "zookeeper_client_cert_file": "/zk-cert.pem",
            "zookeeper_client_key_file": "/zk-key.pem",
            "zookeeper_tls_verify": "false",
            "zookeeper_auth": "sasl-digest",
            "zookeeper_username": "pinot",
            "zookeeper_password": "hush too",
            "zookeeper_service": "zk",
            "zookeeper_acl": "creator+read",
        },
        tmp_path,
    )
    assert config == ControllerConfig(
        "https://one:9000",
        BasicAuth("me", Secret("hush")),
        Tls("/ca.pem", "/cert.pem", "/key.pem", verify=False),
        connect_timeout_s=2.5,
        read_timeout_s=70.0,
    )
    assert access == ZooKeeperAccess(
        Tls("/zk-ca.pem", "/zk-cert.pem", "/zk-key.pem", verify=False),
        AuthKind.SASL_DIGEST,
        "pinot",
        Secret("hush too"),
        "zk",
        "creator+read",
    )


@PLACES
def test_a_token_instead_of_a_user(read: Read, tmp_path: Path) -> None:
    config, access = read({"controller": "http://one:9000", "token": "hush"}, tmp_path)
    assert config.auth == BearerToken(Secret("hush"))
    assert access == ZooKeeperAccess()


@PLACES
@pytest.mark.parametrize(
    "wrong",
    [
        {"token": "hush", "username": "me", "password": "hush"},
        {"tls_verify": "no"},
        {"connect_timeout_s": "soon"},
        {"read_timeout_s": "0"},
        {"zookeeper_tls": "yes"},
        {"zookeeper_tls": "false", "zookeeper_ca_file": "/ca.pem"},
        {"zookeeper_auth": "basic"},
        {"zookeeper_password": "hush"},
        {"zookeeper_acl": "everybody"},
    ],
    ids=lambda wrong: ",".join(wrong),
)
def test_what_cannot_be_meant_is_refused(read: Read, wrong: Mapping[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read({"controller": "http://one:9000", **wrong}, tmp_path)
    assert "hush" not in str(caught.value)


def test_each_place_has_each_setting() -> None:
    names = {setting.name for setting in CONNECTION_SETTINGS}
    of_pinotctl = {setting.env for setting in SETTINGS} - {ENGINE_VARIABLE}
    assert of_pinotctl == {setting.env for setting in CONNECTION_SETTINGS}
    assert set(EXTRAS) == names - {"controller", "username", "password"}
    options = {option.name: option for _, option in declared(ReadOptions)}
    of_spark = {*options, *(f"zookeeper.{key}" for key in options["zookeeper."].keys)}
    # Spark's reads ask the controller for brokers and the name of the cluster.
    assert {_spark_name(name) for name in names} - of_spark <= {"broker", "clusterName"}
