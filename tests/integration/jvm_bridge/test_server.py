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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from controller_client.errors import PinotPluginError, UnsupportedError
from controller_client.helix.failed_hooks import read_failed_hooks
from controller_client.models import Schema, TableConfig
from controller_client.upsert.creating import check_hooks
from controller_client.zookeeper import PropertyStore
from tests.integration.jvm_bridge import raising_hook
from tests.integration.jvm_bridge.servers import (
    CLASSES_OF_ROLES,
    HOST,
    JAVA_OPTS,
    NO_COMPILER,
    ServerProcess,
    cache_with,
    free_ports,
    with_path,
)
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.kafka import Kafka
from tests.support.offline_tables import offline_table
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.segments import build_segments
from tests.support.service import Program
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

_ROWS = 1000
_STOCK, _HOSTED = Program.PINOT, Program.PINOTCTL
# A stopping server waits for this time without queries before it leaves, and no longer for one query.
_DRAIN = {"pinot.server.query.executor.timeout": "2000"}
# Pinot lists its configuration in its log.
_SECRET = {"pinot.server.storage.factory.other.secretKey": "hush-hush"}
# Only with this property does the stock command's exit code report a wrong argument.
_EXIT = "-Dpinot.admin.system.exit=true"
# What they do instead, and how often each fails until queries are answered; two need a compiler for Java.
_FAILURES = {"raises": 2, "cannot-be-made": 1, "is-not-there": 1, "partition-pause": 1, "upsert": 1}

MakeServer = Callable[..., ServerProcess]


@pytest.fixture(scope="module")
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as connected:
        yield connected


@pytest.fixture(scope="module")
def make_server(
    pinot: PinotCluster, store: PropertyStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeServer]:
    """Return a function that creates servers, not started yet; they are removed after the tests."""
    made: list[ServerProcess] = []

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
    metrics_port: int

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
    (metrics_port,) = free_ports(1)
    hosted = make_server(
        _HOSTED,
        tenant,
        properties=_DRAIN | _SECRET,
        environment={
            **with_path(path),
            **cache_with(tmp_path_factory.mktemp("twins") / "cache", CLASSES_OF_ROLES),
        },
        options=[
            *(f"--hook={name}" for name in (*_FAILURES, "table-watch")),
            *("--metrics-port", str(metrics_port)),
        ],
    )
    for server, options in ((stock, JAVA_OPTS), (hosted, NO_COMPILER)):
        server.java_opts = f"{options} -Dof.a.test=yes -XX:+ExitOnOutOfMemoryError {_jmx(server)}"
        server.start()
    for server in (stock, hosted):
        server.wait_ready()
    table = f"twins_{uuid.uuid4().hex[:8]}"
    _load(pinot, table, tenant, tmp_path_factory.mktemp("segments"))
    made = Twins(pinot, stock, hosted, table, metrics_port)
    wait_for(lambda: made.rows() == _ROWS, "all rows of both servers' table")
    yield made
    with pinot.client() as client:
        drop(client, table)


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
    program = [sys.executable, "-m", "tests.integration.jvm_bridge.beans_program", HOST, str(server.ports[5])]
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

    # Metrics: the same names, plus those of the hooks; some are created only by a query.
    def same_names() -> bool:
        for _ in range(20):
            assert twins.rows() == _ROWS
        names.update({server.program: _pinot_metrics(server) for server in (stock, hosted)})
        errors.update({name: value for name, value in names[_HOSTED].items() if "pythonHook" in name})
        return names[_STOCK].keys() == names[_HOSTED].keys() - errors.keys()

    names: dict[Program, dict[str, str | None]] = {}
    errors: dict[str, str | None] = {}
    wait_for(same_names, "both to have the same metrics")
    assert len(names[_STOCK]) > 40
    counts = {
        match[1]: value
        for name, value in errors.items()
        if (match := re.search(r"pythonHook\.(.+)\.errors", name))
    }
    expected = {name: str(times) for name, times in _FAILURES.items()}
    assert counts == {**expected, "uncaught": "1", "table-watch": "0"}
    log = hosted.log
    for text in ("before the start", "after the start", "in a thread", "made wrongly", "NoSuchName"):
        assert text in log
    assert "hook raises failed before the start; the server continues" in log
    assert "hush" not in log
    assert re.search(r"pinot\.server\.storage\.factory\.other\.secretkey\W+(value: )?\*\*\*", log.lower())


def test_the_hook_in_the_docs_does_what_they_describe(twins: Twins) -> None:
    wait_for(lambda: f"this server has 1 tables: ['{twins.table}_OFFLINE']" in twins.hosted.log, "its line")
    assert f"{twins.hosted.instance} of {twins.pinot.cluster_name} is about to start" in twins.hosted.log


@pytest.mark.kafka
def test_it_starts_without_hooks_that_nothing_needs_and_what_needs_them_later_is_refused(
    twins: Twins, store: PropertyStore, kafka: Kafka
) -> None:
    hosted = twins.hosted
    wait_for(lambda: f"{hosted.instance} runs with the hooks table-watch" in hosted.log, "its last line")
    for hook in ("partition-pause", "upsert"):
        assert f"hook {hook} failed before the start" in hosted.log
    assert "the role starts without it, because nothing depends on it now" in hosted.log
    assert "`pinotctl consumption pause --partition` is rejected for tables on this server." in hosted.log
    assert read_failed_hooks(store)[hosted.instance].keys() == {"partition-pause", "upsert"}
    config = realtime_table("refused", kafka, tenant=hosted.tenant, keeps_all=True)
    upsert = planned_upsert(realtime_schema("refused", {"id": "STRING"}), config, ["id"])
    with pytest.raises(UnsupportedError, match=f"{hosted.instance} runs without the hook upsert"):
        check_hooks(store, upsert.table)


def test_it_reports_its_state_by_http(twins: Twins) -> None:
    def ask(page: str) -> requests.Response:
        return requests.get(f"http://{HOST}:{twins.metrics_port}/{page}", timeout=10)

    wait_for(lambda: ask("ready").ok, "it to be ready")
    assert ask("health").json() == {"healthy": True, "reasons": []}
    metrics = ask("metrics").text
    for hook, errors in {**_FAILURES, "table-watch": 0}.items():
        assert f'pinot_plugins_hook_errors_total{{hook="{hook}"}} {errors:.1f}\n' in metrics
        assert f'pinot_plugins_hook_running_ratio{{hook="{hook}"}} {float(not errors)}\n' in metrics


@FULL
def test_the_hooks_that_run_by_default_report_no_errors(make_server: MakeServer) -> None:
    (port,) = free_ports(1)
    server = make_server(_HOSTED, options=["--metrics-port", str(port)])
    server.start()
    server.wait_ready()
    url = f"http://{HOST}:{port}"
    wait_for(lambda: requests.get(f"{url}/ready", timeout=10).ok, "it to be ready")
    assert requests.get(f"{url}/health", timeout=10).json() == {"healthy": True, "reasons": []}
    metrics = requests.get(f"{url}/metrics", timeout=10).text
    for hook in ("commit-upload", "partition-pause", "upsert"):
        assert f'pinot_plugins_hook_errors_total{{hook="{hook}"}} 0.0\n' in metrics
        assert f'pinot_plugins_hook_running_ratio{{hook="{hook}"}} 1.0\n' in metrics
    assert 'pinot_plugins_process_rounds_total{loop="partition-pause"}' in metrics
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM


@contextmanager
def _queried(twins: Twins) -> Iterator[list[int]]:
    """Count the rows continuously during the block; a list of the counts, each of which must be complete."""
    seen: list[int] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.02):
            seen.append(twins.rows())

    with ThreadPoolExecutor(3) as clients:
        asking = [clients.submit(ask) for _ in range(3)]
        try:
            wait_for(lambda: len(seen) > 20, "queries")
            yield seen
        finally:
            ended.set()
        for each in asking:
            each.result()
    assert set(seen) == {_ROWS}


def test_no_query_fails_while_it_drains(twins: Twins) -> None:
    hosted = twins.hosted
    with _queried(twins) as seen:
        before = len(seen)
        hosted.signal(signal.SIGTERM)
        wait_for(lambda: not hosted.takes_queries(), "the server to send queries away")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # a second one changes nothing
            hosted.signal(number)
        assert hosted.wait_end() == 128 + signal.SIGTERM
        assert not hosted.is_live()
        assert not hosted.takes_queries()
        assert len(seen) > before
    assert "Finished draining queries" in hosted.log
    assert "Finish shutting down Pinot server" in hosted.log
    assert "hook raises failed before the stop; the server continues" in hosted.log


@FULL
def test_no_query_fails_while_it_starts_again_and_a_killed_one_comes_back(twins: Twins) -> None:
    hosted = twins.hosted
    if hosted.is_live():
        hosted.signal(signal.SIGTERM)
        assert hosted.wait_end() == 128 + signal.SIGTERM
    with _queried(twins):
        hosted.start()
        hosted.wait_ready()
    hosted.signal(signal.SIGKILL)
    assert hosted.wait_end() == -signal.SIGKILL
    hosted.start()
    hosted.wait_ready()
    wait_for(lambda: twins.rows() == _ROWS, "all rows", times=20)


@FULL
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


@FULL
@pytest.mark.parametrize(
    ("text", "codes", "arguments", "properties"),
    [
        ("Unknown options: '-noSuchOption', 'x'", (1, 2), ("-noSuchOption", "x"), {}),
        (
            "the configuration file of the server does not exist",
            (255, 2),
            ("-configFileName", "/no/such/server.conf"),
            {},
        ),
        ("ZooKeeper does not accept connections", (255, 1), None, {"pinot.zk.server": f"{HOST}:9"}),
        ("does not start", (255, 1), None, {"pinot.cluster.name": "NoSuchCluster"}),
        ("does not start", (255, 1), None, {"pinot.server.netty.port": "taken"}),
    ],
    ids=["argument", "no file", "not a ZooKeeper", "no cluster", "taken port"],
)
def test_a_start_fails_like_that_of_a_stock_server(
    make_server: MakeServer,
    text: str,
    codes: tuple[int, int],
    arguments: tuple[str, ...] | None,
    properties: dict[str, str],
) -> None:
    """The stock server's code is mostly that of Java's ``System.exit(-1)``."""
    with socket.create_server(("", 0)) as taken:
        ports = free_ports(6)
        if "taken" in properties.values():
            ports = (taken.getsockname()[1], *ports[1:])
            properties = dict.fromkeys(properties, str(ports[0]))
        for program, code in zip((_STOCK, _HOSTED), codes, strict=True):
            server = make_server(program, properties=properties, ports=ports)
            server.java_opts = f"{JAVA_OPTS} {_EXIT}"
            wait_for(lambda: not server.is_live(), "the session of a server before it to end")  # noqa: B023
            server.start(arguments)
            assert server.wait_end() == code, server.log[-4000:]
        assert not server.is_live()
        assert text in server.log
        assert "Error: " in server.log


@FULL
@pytest.mark.parametrize("moment", ["before it joins", "when it has joined"])
def test_a_signal_ends_it_while_it_starts(make_server: MakeServer, moment: str) -> None:
    # Its session would outlast the check.
    server = make_server(_HOSTED, java_opts=JAVA_OPTS.replace("timeout=4000", "timeout=30000"))
    server.start()
    if moment == "before it joins":
        wait_for(lambda: "Starting Pinot server" in server.log, "the start", interval_s=0.01)
    else:
        wait_for(server.is_live, "it to join", interval_s=0.005)
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM
    assert not server.is_live()
    if moment == "before it joins":
        assert "Pinot server ready" not in server.log


@FULL
def test_it_leaves_in_order_when_java_ends_itself(make_server: MakeServer, tmp_path: Path) -> None:
    raising_hook.install(tmp_path)
    path, hook = with_path(tmp_path), ["--hook=exits-java"]
    server = make_server(_HOSTED, properties=_DRAIN, environment=path, options=hook)
    server.start()
    assert server.wait_end() == 7, server.log
    assert not server.is_live()
    assert not server.takes_queries()
    assert "hook sees the stop" in server.log
    assert "Finish shutting down Pinot server" in server.log
