"""Pinot's server hosted in Python, compared with a stock one: both look the same from outside."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import requests

from controller_client.errors import PinotPluginError
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.integration.jvm_bridge import raising_hook
from tests.integration.jvm_bridge.servers import HOST, JAVA_OPTS, ServerProcess, free_ports, with_path
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.segments import build_segments
from tests.support.service import Program
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

_PROGRAMS = "tests.integration"
_ROWS = 1000
_STOCK, _HOSTED = Program.PINOT, Program.PINOTCTL
# A stopping server waits for this time without queries before it leaves, and no longer for one query.
_DRAIN = {"pinot.server.query.executor.timeout": "2000"}
# Pinot lists its configuration in its log.
_SECRET = {"pinot.server.storage.factory.other.secretKey": "hush-hush"}
# Only with this property does the stock command's exit code report a wrong argument.
_EXIT = "-Dpinot.admin.system.exit=true"

MakeServer = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def make_server(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeServer]:
    """Return a function that creates servers, not started yet; they are removed after the tests."""
    made: list[ServerProcess] = []
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:

        def make(program: Program, tenant: str | None = None, **settings: object) -> ServerProcess:
            folder = tmp_path_factory.mktemp(f"{program}-server")
            tenant = tenant or f"t{uuid.uuid4().hex[:8]}"
            server = ServerProcess(pinot, store, folder, program, tenant, **settings)  # type: ignore[arg-type]
            server.register()
            made.append(server)
            return server

        yield make
        for server in made:
            server.remove()


@dataclass
class Twins:
    """A stock and a hosted server, each with a replica of one table; the hosted one has failing hooks."""

    pinot: PinotCluster
    stock: ServerProcess
    hosted: ServerProcess
    table: str

    def rows(self) -> int:
        """Return the number of rows that a query sees; -1 if the result is incomplete."""
        try:
            with self.pinot.broker() as broker:
                return int(broker.query(f"select count(*) from {self.table}").scalar())
        except PinotPluginError:
            return -1


@pytest.fixture(scope="module")
def twins(
    pinot: PinotCluster, make_server: MakeServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Twins]:
    path = tmp_path_factory.mktemp("path")
    raising_hook.install(path)
    tenant = f"t{uuid.uuid4().hex[:8]}"
    stock = make_server(_STOCK, tenant, properties=_DRAIN)
    hooks = ("--hook=raises", "--hook=cannot-be-made", "--hook=is-not-there", "--hook=table-watch")
    properties = _DRAIN | _SECRET
    hosted = make_server(_HOSTED, tenant, properties=properties, environment=with_path(path), options=hooks)
    for server in (stock, hosted):
        server.java_opts = f"{JAVA_OPTS} -Dof.a.test=yes -XX:+ExitOnOutOfMemoryError {_jmx(server)}"
        server.start()
    for server in (stock, hosted):
        server.wait_ready()
    table = f"twins_{uuid.uuid4().hex[:8]}"
    _load(pinot, table, tenant, tmp_path_factory.mktemp("segments"))
    made = Twins(pinot, stock, hosted, table)
    wait_for(lambda: made.rows() == _ROWS, "all rows of both servers' table")
    yield made
    with pinot.client() as client:
        client.tables.delete(f"{table}_OFFLINE")
        client.schemas.delete(table)


def _jmx(server: ServerProcess) -> str:
    prefix, port = "-Dcom.sun.management.jmxremote", server.ports[5]
    values = f"{prefix}.port={port} {prefix}.rmi.port={port} {prefix}.host={HOST}"
    return f"{values} {prefix}.authenticate=false {prefix}.ssl=false -Djava.rmi.server.hostname={HOST}"


def _load(pinot: PinotCluster, name: str, tenant: str, folder: Path) -> None:
    fields = [{"name": "id", "dataType": "INT"}]
    schema = {"schemaName": name, "dimensionFieldSpecs": fields}
    table = offline_table(name, replicas=2, tenant=tenant)
    rows = [{"id": number} for number in range(_ROWS)]
    (segment,) = build_segments(folder, schema, table, {f"{name}_0": rows})
    with pinot.client() as client:
        client.schemas.create(Schema.from_json(schema))
        client.tables.create(TableConfig.from_json(table))
        client.segments.upload_tar(f"{name}_OFFLINE", segment.tar)
        wait_for(
            lambda: [len(s) for s in client.tables.external_view(f"{name}_OFFLINE").values()] == [2],
            f"both replicas of {name}",
        )


def _beans(server: ServerProcess) -> dict[str, str | None]:
    program = [sys.executable, "-m", f"{_PROGRAMS}.jvm_bridge.beans_program", HOST, str(server.ports[5])]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    beans: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return beans


def _pinot_metrics(server: ServerProcess) -> dict[str, str | None]:
    found = _beans(server)
    return {
        name: value for name, value in found.items() if "org.apache.pinot" in name or "pinot.server" in name
    }


def test_it_looks_like_a_stock_server_even_if_its_hooks_fail(twins: Twins) -> None:
    stock, hosted = twins.stock, twins.hosted
    for _ in range(20):  # so that both have answered
        assert twins.rows() == _ROWS

    # Helix
    configs = [server.config() for server in (stock, hosted)]
    keys = [(sorted(c.simple_fields), sorted(c.list_fields), c.map_fields) for c in configs]
    assert keys[0] == keys[1]

    # The JVM: memory, options, system properties
    for server in (stock, hosted):
        flags = server.jcmd("VM.flags")
        assert "-XX:MaxHeapSize=268435456" in flags
        assert "-XX:+ExitOnOutOfMemoryError" in flags
        assert "-XX:+UseSerialGC" in flags
        assert "of.a.test=yes" in server.jcmd("VM.system_properties")
        assert "Full thread dump" in server.jcmd("Thread.print")

    # Metrics: the same names, plus those of the hooks
    of_stock, of_hosted = _pinot_metrics(stock), _pinot_metrics(hosted)
    assert len(of_stock) > 40
    errors = {name: value for name, value in of_hosted.items() if "pythonHook" in name}
    assert of_stock.keys() == of_hosted.keys() - errors.keys()
    counts = {
        match[1]: value
        for name, value in errors.items()
        if (match := re.search(r"pythonHook\.(.+)\.errors", name))
    }
    expected = {"raises": "2", "cannot-be-made": "1", "is-not-there": "1", "uncaught": "1"}
    assert counts == {**expected, "table-watch": "0"}
    log = hosted.log
    for text in ("before the start", "after the start", "in a thread", "made wrongly", "NoSuchName"):
        assert text in log
    assert "hook raises failed before the start; the server continues" in log
    assert "hush" not in log
    assert re.search(r"pinot\.server\.storage\.factory\.other\.secretkey\W+(value: )?\*\*\*", log.lower())


def test_the_hook_in_the_docs_does_what_they_describe(twins: Twins) -> None:
    wait_for(lambda: f"this server has 1 tables: ['{twins.table}_OFFLINE']" in twins.hosted.log, "its line")
    assert f"{twins.hosted.instance} of {twins.pinot.cluster_name} is about to start" in twins.hosted.log


def test_no_query_fails_while_it_drains_and_a_killed_one_comes_back(twins: Twins) -> None:
    hosted = twins.hosted
    seen: list[int] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            seen.append(twins.rows())

    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        wait_for(lambda: len(seen) > 20, "queries")
        before = len(seen)
        hosted.signal(signal.SIGTERM)
        wait_for(lambda: not hosted.takes_queries(), "the server to send queries away")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # a second one changes nothing
            hosted.signal(number)
        assert hosted.wait_end() == 128 + signal.SIGTERM
        assert not hosted.is_live()
        assert not hosted.takes_queries()
        assert len(seen) > before
        hosted.start()
        hosted.wait_ready()
    finally:
        ended.set()
        for client in clients:
            client.join()
    assert set(seen) == {_ROWS}
    assert "Finished draining queries" in hosted.log
    assert "Finish shutting down Pinot server" in hosted.log
    assert "hook raises failed before the stop; the server continues" in hosted.log

    hosted.signal(signal.SIGKILL)
    assert hosted.wait_end() == -signal.SIGKILL
    hosted.start()
    hosted.wait_ready()
    assert twins.rows() == _ROWS


def test_by_flags_alone_under_nohup_and_with_a_log_file(make_server: MakeServer, tmp_path: Path) -> None:
    log_file = tmp_path / "server.log"
    config = tmp_path / "log4j2.xml"
    config.write_text(
        '<Configuration><Appenders><File name="file" fileName="' + str(log_file) + '">'
        '<PatternLayout pattern="%p|%c|%m%n"/></File></Appenders>'
        '<Loggers><Root level="info"><AppenderRef ref="file"/></Root></Loggers></Configuration>'
    )
    server = make_server(_HOSTED, before=["nohup"])
    server.java_opts = f"-server {JAVA_OPTS} -Dlog4j2.configurationFile={config}"
    assert server.health() == ""
    server.start(server.by_flags())
    server.wait_ready()
    server.signal(signal.SIGHUP)
    server.signal(signal.SIGQUIT)
    wait_for(lambda: "Full thread dump" in server.log, "the threads of the JVM")
    assert server.health() == "OK"
    assert server.is_live()
    server.signal(signal.SIGINT)
    assert server.wait_end() == 128 + signal.SIGINT
    assert not server.is_live()
    assert server.health() == ""
    written = log_file.read_text()
    assert "INFO|org.apache.pinot.server.starter.helix.BaseServerStarter|Pinot server ready" in written
    assert f"INFO|jvm_bridge.role_host.host|{server.instance} runs with the hooks" in written
    assert "Pinot server ready" not in server.log


def test_it_reports_its_state_by_http(make_server: MakeServer) -> None:
    (port,) = free_ports(1)
    server = make_server(_HOSTED, options=["--metrics-port", str(port)])
    server.start()

    def ask(page: str) -> requests.Response | None:
        try:
            return requests.get(f"http://{HOST}:{port}/{page}", timeout=10)
        except requests.ConnectionError:
            return None

    wait_for(lambda: ask("ready") is not None, "its pages")
    server.wait_ready()
    wait_for(lambda: (answer := ask("ready")) is not None and answer.ok, "it to be ready")
    health, metrics = ask("health"), ask("metrics")
    assert health is not None
    assert health.json() == {"healthy": True, "reasons": []}
    assert metrics is not None
    for hook in ("commit-upload", "partition-pause", "upsert"):
        assert f'pinot_plugins_hook_errors_total{{hook="{hook}"}} 0.0\n' in metrics.text
        assert f'pinot_plugins_hook_running_ratio{{hook="{hook}"}} 1.0\n' in metrics.text
    assert 'pinot_plugins_process_rounds_total{loop="partition-pause"}' in metrics.text
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM


@dataclass
class Refused:
    """A start that must fail.

    Attributes:
        arguments: Replace the server's own; ``{name}`` is replaced by a value of the test.
        text: The error of the hosted server.
        code: Exit code of the hosted server.
        stock_code: That of the stock one: Java's ``System.exit(-1)``, mostly.
        properties: Added to the configuration file.
    """

    text: str
    code: int
    arguments: tuple[str, ...] = ()
    stock_code: int = 255
    properties: dict[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Refused("Unknown options: '-noSuchOption', 'x'", 2, ("-noSuchOption", "x"), stock_code=1),
            id="argument",
            marks=FULL,
        ),
        pytest.param(
            Refused(
                "the configuration file of the server does not exist",
                2,
                ("-configFileName", "/no/such/server.conf"),
            ),
            id="no file",
        ),
        pytest.param(
            Refused("ZooKeeper does not accept connections", 1, properties={"pinot.zk.server": f"{HOST}:9"}),
            id="not a ZooKeeper",
            marks=FULL,
        ),
        pytest.param(
            Refused("does not start", 1, properties={"pinot.cluster.name": "NoSuchCluster"}),
            id="no cluster",
            marks=FULL,
        ),
        pytest.param(
            Refused("does not start", 1, properties={"pinot.server.netty.port": "{taken}"}), id="taken port"
        ),
    ],
)
def test_a_start_fails_like_that_of_a_stock_server(make_server: MakeServer, case: Refused) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        properties = {key: value.format(taken=port) for key, value in case.properties.items()}
        ports = free_ports(6)
        if "pinot.server.netty.port" in properties:
            ports = (int(port), *ports[1:])
        codes = []
        for program in (_STOCK, _HOSTED):
            server = make_server(program, properties=properties, ports=ports)
            server.java_opts = f"{JAVA_OPTS} {_EXIT}"
            server.start(case.arguments or None)
            codes.append(server.wait_end())
            if program is _STOCK:  # the hosted one has its name
                wait_for(partial(_is_gone, server), "the stock server's session to end")
        assert codes == [case.stock_code, case.code]
        assert not server.is_live()
        assert case.text in server.log
        assert "Error: " in server.log


def _is_gone(server: ServerProcess) -> bool:
    return not server.is_live()


@pytest.mark.parametrize("program", [pytest.param(_STOCK, marks=FULL), _HOSTED])
def test_a_signal_ends_it_while_it_starts(make_server: MakeServer, program: Program) -> None:
    server = make_server(program)
    server.start()
    wait_for(lambda: "Starting Pinot server" in server.log, "the start", interval_s=0.01)
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM
    assert "Pinot server ready" not in server.log


def test_it_leaves_in_order_when_java_ends_itself(make_server: MakeServer, tmp_path: Path) -> None:
    raising_hook.install(tmp_path)
    path, hook = with_path(tmp_path), ["--hook=exits-java"]
    server = make_server(_HOSTED, properties=_DRAIN, environment=path, options=hook)
    server.start()
    assert server.wait_end() == 7
    assert not server.is_live()
    assert not server.takes_queries()
    assert "hook sees the stop" in server.log
    assert "Finish shutting down Pinot server" in server.log


def test_a_hosted_server_that_is_stopped_while_it_starts_leaves_the_cluster(make_server: MakeServer) -> None:
    # Its session would outlast the check.
    server = make_server(_HOSTED, java_opts=JAVA_OPTS.replace("timeout=4000", "timeout=30000"))
    server.start()
    wait_for(server.is_live, "it to join", interval_s=0.005)
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM
    assert not server.is_live()
