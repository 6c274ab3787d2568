"""Steps that have one home each, where their rules are kept; all other code has to go through it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Mapping

import pytest

from tests.unit.named_tests import ROOT, exists

_HATCH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
PACKAGES = tuple(_HATCH["build"]["targets"]["wheel"]["packages"])

Finder = Callable[[ast.AST], bool]
_IMPORTS = {"import_module", "__import__"}
_DIGIT_TESTS = {"isdigit", "isdecimal", "isnumeric"}
_FOLDERS = {"TemporaryDirectory", "mkdtemp"}
_REQUESTS = {"Session", "get", "post", "put", "delete", "head", "patch", "request"}
_NETWORK_MODULES = {
    *("adlfs", "aiohttp", "azure", "boto3", "botocore", "ftplib", "fsspec", "gcsfs", "grpc", "hdfs"),
    *("http.client", "httpx", "paramiko", "smtplib", "urllib.request", "websockets"),
}
_CLIENTS = {
    *("AdminClient", "Consumer", "Producer", "KazooClient", "HttpSession", "PoolManager"),
    *("create_connection", "urlopen"),
}
_WORDS = re.compile(
    "|".join(
        [*_IMPORTS, *_DIGIT_TESTS, *_FOLDERS, r"\brequests\b", *map(re.escape, _NETWORK_MODULES), *_CLIENTS]
    )
)


def _name(node: ast.AST) -> str:
    """The last part of a name: of ``tempfile.TemporaryDirectory`` the second."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def imports_by_name(node: ast.AST) -> bool:
    """Whether it imports a module whose name is not in the code, or hides the function that does."""
    if isinstance(node, ast.ImportFrom):
        return any(each.name in _IMPORTS and each.asname for each in node.names)
    if not isinstance(node, ast.Call) or _name(node.func) not in _IMPORTS:
        return False
    return not (node.args and isinstance(node.args[0], ast.Constant))


def makes_a_temporary_folder(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in _FOLDERS


def opens_a_session(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "requests" and any(each.name in _REQUESTS for each in node.names)
    called = (
        [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
    )
    return any(
        isinstance(each, ast.Attribute) and _name(each.value) == "requests" and each.attr in _REQUESTS
        for each in called
    )


def opens_a_connection(node: ast.AST) -> bool:
    """Whether it creates a client of the network, or imports a library whose clients send credentials."""
    if isinstance(node, ast.ImportFrom):
        return any(
            _is_of_network(f"{node.module}.{each.name}") or _is_of_network(f"{node.module}")
            for each in node.names
        )
    if isinstance(node, ast.Import):
        return any(_is_of_network(each.name) for each in node.names)
    if isinstance(node, ast.ClassDef):
        return any(_name(base) in _CLIENTS for base in node.bases)
    return isinstance(node, ast.Call) and _name(node.func) in _CLIENTS


def _is_of_network(module: str) -> bool:
    parts = module.split(".")
    return not _NETWORK_MODULES.isdisjoint({parts[0], ".".join(parts[:2])})


def asks_for_digits(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _DIGIT_TESTS


_HTTP = "tests/unit/test_where_credentials_go.py::test_credentials_arrive_only_where_they_belong"
_OTHERS = "tests/unit/test_where_other_credentials_go.py"
_S3 = f"{_OTHERS}::test_the_keys_of_this_machine_go_only_to_the_endpoint_that_it_names"
_GCS = f"{_OTHERS}::test_an_endpoint_for_google_gets_the_key_beside_it_and_none_of_this_machine"
_AZURE = f"{_OTHERS}::test_a_connection_string_for_azure_gets_nothing_of_this_machine"
_GRPC = f"{_OTHERS}::test_servers_get_credentials_by_grpc_as_encrypted_as_the_controllers_do"
_ZOOKEEPER = f"{_OTHERS}::test_the_password_of_zookeeper_goes_to_the_named_one_and_no_reported_one"
_AUTHORITIES = f"{_OTHERS}::test_the_password_of_zookeeper_does_not_go_to_a_server_of_another_authority"
_KAFKA = f"{_OTHERS}::test_a_client_of_kafka_has_the_credentials_beside_its_brokers_and_no_others"
_PROBES = f"{_OTHERS}::test_a_probe_has_no_credentials_at_hand"
_ICEBERG = "tests/unit/minion_tasks/sources/test_iceberg_rest.py::test_credentials_go_to_the_catalog_alone"
TRANSPORTS: Mapping[str, str] = {
    "controller_client/broker/client.py": _HTTP,
    "key_coordinator/current_generation.py": _KAFKA,
    "key_coordinator/local/input_topic.py": _KAFKA,
    "key_coordinator/reading/avro_messages.py": _HTTP,
    "key_coordinator/sent_versions.py": _KAFKA,
    "key_coordinator/topic_settings.py": _KAFKA,
    "key_coordinator/updates_topic.py": _KAFKA,
    "controller_client/filestore/azure.py": _AZURE,
    "controller_client/filestore/fsspec_store.py": _GCS,
    "controller_client/filestore/gcs.py": _GCS,
    "controller_client/filestore/limited_response.py": _GCS,
    "controller_client/filestore/remote.py": _GCS,
    "controller_client/filestore/s3.py": _S3,
    "controller_client/filestore/webhdfs.py": _HTTP,
    "controller_client/rest/transport.py": _HTTP,
    "controller_client/stream/offsets.py": _KAFKA,
    "controller_client/upsert/dropping.py": _KAFKA,
    "controller_client/upsert/version_ends.py": _KAFKA,
    "controller_client/zookeeper/client_options.py": _AUTHORITIES,
    "controller_client/zookeeper/probe.py": _PROBES,
    "controller_client/zookeeper/session.py": _ZOOKEEPER,
    "jvm_bridge/jars/download.py": _HTTP,
    "jvm_bridge/local_cluster/health.py": _PROBES,
    "jvm_bridge/zookeeper_address.py": _PROBES,
    "minion_tasks/sources/iceberg_catalog.py": _ICEBERG,
    "server_hooks/upsert/updates_topic.py": _KAFKA,
    "spark_connectors/read/server_query.py": _GRPC,
}
"""The modules that open connections, each with the test that records where its credentials go."""

_OWN_MODULES = "the names are in a table of this file"
HOMES: Mapping[Finder, Mapping[str, str]] = {
    imports_by_name: {
        "controller_client/__init__.py": _OWN_MODULES,
        "controller_client/consumption/__init__.py": _OWN_MODULES,
        "pinot_airflow/__init__.py": _OWN_MODULES,
        "spark_connectors/__init__.py": _OWN_MODULES,
        "pinot_airflow/conditions/base.py": "Airflow imports triggers by names of the same database",
    },
    makes_a_temporary_folder: {
        "controller_client/common/folders.py": "scratch_folder, which deletes what killed processes left",
        "jvm_bridge/jars/cache.py": "within a folder that each holder of the cache's lock empties",
        "jvm_bridge/builder/one_file.py": "within the work folder of its caller",
        "minion_tasks/file_ingestion/engine/staging_builder.py": "within the scratch folder of its caller",
        "controller_client/filestore/local.py": "within the work folder of its caller",
    },
    opens_a_session: {
        "controller_client/common/http_session.py": "the session of all transports",
    },
    opens_a_connection: TRANSPORTS,
    asks_for_digits: {},
}
"""What code does, and the files that may do it, each with its reason."""

INSTEAD: Mapping[Finder, str] = {
    imports_by_name: "an entry point that the operator installs",
    makes_a_temporary_folder: "controller_client.common.folders.scratch_folder",
    opens_a_session: "the transport of that peer",
    opens_a_connection: "a transport of TRANSPORTS, or record in a test where the credentials of this one go",
    asks_for_digits: "controller_client.common.parsing.whole_number",
}


def test_each_step_is_taken_in_its_homes_alone() -> None:
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 500
    faults = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        if not _WORDS.search(text):
            continue  # parsing all files would take long
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(text)):
            faults += [
                f"{file}:{node.lineno}: use {INSTEAD[finder]}"  # type: ignore[attr-defined]
                for finder, homes in HOMES.items()
                if file not in homes and finder(node)
            ]
    assert faults == []


def test_each_home_does_what_it_is_a_home_for() -> None:
    idle = [
        f"{file}: {finder.__name__}"
        for finder, homes in HOMES.items()
        for file in homes
        if not any(map(finder, ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))))
    ]
    assert idle == []


@pytest.mark.parametrize("test", sorted(set(TRANSPORTS.values())))
def test_where_the_credentials_of_a_transport_go_is_recorded(test: str) -> None:
    assert exists(test)


@pytest.mark.parametrize(
    ("finder", "code"),
    [
        (imports_by_name, "importlib.import_module(name)"),
        (imports_by_name, "import_module(f'a.{name}')"),
        (imports_by_name, "__import__(name)"),
        (imports_by_name, "from importlib import import_module as load"),
        (makes_a_temporary_folder, "tempfile.TemporaryDirectory()"),
        (makes_a_temporary_folder, "TemporaryDirectory(dir=folder)"),
        (opens_a_session, "requests.Session()"),
        (opens_a_session, "class Mine(requests.Session): pass"),
        (opens_a_session, "from requests import Session"),
        (opens_a_session, "requests.get(url, timeout=5)"),
        (opens_a_connection, "grpc.insecure_channel(target)\nimport grpc"),
        (opens_a_connection, "from grpc import aio"),
        (opens_a_connection, "from urllib import request"),
        (opens_a_connection, "import http.client"),
        (opens_a_connection, "from azure.identity import DefaultAzureCredential"),
        (opens_a_connection, "HttpSession()"),
        (opens_a_connection, "class Mine(HttpSession): pass"),
        (opens_a_connection, "kazoo.client.KazooClient(hosts)"),
        (opens_a_connection, "socket.create_connection(address)"),
        (opens_a_connection, "confluent_kafka.Producer(settings)"),
        (asks_for_digits, "text.isdigit()"),
        (asks_for_digits, "map(str.isdecimal, texts)"),
    ],
)
def test_a_step_is_seen(finder: Finder, code: str) -> None:
    assert any(map(finder, ast.walk(ast.parse(code))))


@pytest.mark.parametrize(
    "code",
    [
        "importlib.import_module('jpype')",
        "scratch_folder('pinot-')",
        "session: requests.Session | None = None",
        "except_ = requests.RequestException",
        "whole_number(text)",
        "from http import HTTPStatus",
        "from urllib.parse import urlsplit",
        "from kazoo.client import KazooClient",
    ],
)
def test_other_code_is_left_alone(code: str) -> None:
    for finder in HOMES:
        assert not any(map(finder, ast.walk(ast.parse(code))))
