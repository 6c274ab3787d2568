from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller_client.config import BearerToken, ControllerConfig, Secret, Tls
from controller_client.errors import AuthError, ConfigError, NotFoundError
from controller_client.zookeeper_access import ZooKeeperAccess
from pinotctl.commands.serve import joining, minion
from pinotctl.root import cli
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore

CONFIG = ControllerConfig("http://localhost:9000")


def run(*words: str, role: str = "minion") -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["serve", role, *words])
    return done.exit_code, done.output


def test_the_arguments_of_start_minion_are_understood() -> None:
    parsed = minion.minion.make_context(
        "minion", ["-zkAddress", "z:2181", "-clusterName", "pinot", "-minionHost", "h", "-minionPort", "9600"]
    ).params
    expected = {"zookeeper": "z:2181", "cluster_name": "pinot", "host": "h", "port": 9600}
    assert {key: parsed[key] for key in expected} == expected


@pytest.mark.parametrize("name", ["-configFileName", "-config", "-configFile", "-minionConfig"])
def test_the_names_of_the_configuration_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "minion.conf"
    file.touch()
    assert minion.minion.make_context("minion", [name, str(file)]).params["config_file"] == file


def test_a_missing_configuration_file() -> None:
    code, text = run("-configFileName", "/no/such.conf")
    assert code == 2
    assert "/no/such.conf" in text


@pytest.mark.parametrize("option", ["--port", "-minionPort"])
def test_the_port_in_two_places(option: str, tmp_path: Path) -> None:
    file = tmp_path / "minion.conf"
    file.touch()
    code, text = run("-configFileName", str(file), option, "9600")
    assert code == 2
    assert "--port cannot be combined with a configuration file" in text


def test_tag_and_drain_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINOT_MINION_TAG", "mine")
    monkeypatch.setenv("PINOT_MINION_DRAIN_S", "600")
    parsed = minion.minion.make_context("minion", []).params
    assert (parsed["tag"], parsed["drain_s"]) == ("mine", 600)


class Controllers:
    """The live controllers at each check."""

    def __init__(self, *results: Sequence[tuple[str, int]]) -> None:
        self._results = list(results)
        self.encrypted: Sequence[tuple[str, int]] = ()

    def __call__(self, _store: object, *, with_tls: bool = False) -> Sequence[tuple[str, int]]:
        if with_tls:
            return self.encrypted
        return self._results.pop(0) if len(self._results) > 1 else self._results[0]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryPropertyStore:
    made = MemoryPropertyStore()
    monkeypatch.setattr(MemoryPropertyStore, "__enter__", lambda self: self)
    monkeypatch.setattr(joining, "PropertyStore", lambda *_args, **_kwargs: made)
    return made


def find(clock: FakeClock, config: ControllerConfig = CONFIG) -> ControllerConfig:
    access = ZooKeeperAccess()
    return joining.controllers_in_zookeeper(config, "z:2181", "c", access, wait_s=60, clock=clock)


def test_a_minion_waits_for_controllers(monkeypatch: pytest.MonkeyPatch, store: MemoryPropertyStore) -> None:
    monkeypatch.setattr(joining, "live_controllers", Controllers([], [], [("a", 9000), ("b", 9001)]))
    clock = FakeClock()
    began = clock.monotonic()
    assert find(clock).url == "http://a:9000,http://b:9001"
    assert 0 < clock.monotonic() - began < 60


@pytest.mark.parametrize(
    "secured",
    [
        ControllerConfig("http://localhost:9000", auth=BearerToken(Secret("hush"))),
        ControllerConfig("http://localhost:9000", tls=Tls(ca_file="/ca.pem")),
        ControllerConfig("http://localhost:9000", tls=Tls(client_cert_file="/client.pem")),
    ],
)
def test_a_minion_with_credentials_uses_only_controllers_with_tls(
    secured: ControllerConfig, monkeypatch: pytest.MonkeyPatch, store: MemoryPropertyStore
) -> None:
    controllers = Controllers([("a", 9000), ("b", 9000)])
    monkeypatch.setattr(joining, "live_controllers", controllers)
    with pytest.raises(ConfigError, match="a:9000, registered no port for https") as caught:
        find(FakeClock(), secured)
    assert "PINOT_CONTROLLER_URL" in str(caught.value.remedy)
    controllers.encrypted = [("b", 9443)]
    made = find(FakeClock(), secured)
    assert (made.url, made.auth, made.tls) == ("https://b:9443", secured.auth, secured.tls)
    assert find(FakeClock()).url == "http://a:9000,http://b:9000"


def test_no_controller(monkeypatch: pytest.MonkeyPatch, store: MemoryPropertyStore) -> None:
    monkeypatch.setattr(joining, "live_controllers", Controllers([]))
    with pytest.raises(NotFoundError, match="no live controller"):
        find(FakeClock())


def test_a_rejection_by_zookeeper_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch, store: MemoryPropertyStore
) -> None:
    def refused(_store: object, **_options: bool) -> list[tuple[str, int]]:
        raise AuthError("ZooKeeper does not accept the user pinot")

    monkeypatch.setattr(joining, "live_controllers", refused)
    clock = FakeClock()
    with pytest.raises(AuthError):
        find(clock)
    assert clock.sleeps == []


# --- servers and brokers ---


@pytest.mark.parametrize("word", ["--help", "-help", "-h"])
def test_help_starts_no_server(word: str) -> None:
    code, text = run(word, role="server")
    assert code == 0
    assert "instead of" in text


@pytest.mark.parametrize(
    ("role", "words", "refusal"),
    [
        (
            "server",
            ("--hook", "partition-pause", "--hook", "nope", "-configFileName", "x.conf"),
            "unknown hook: nope; available: .*partition-pause",
        ),
        ("server", ("--hook", "partition-pause", "--no-hooks"), "--hook and --no-hooks cannot be combined"),
        # A single dash does not start a group of short options: this one contains the h of help.
        ("server", ("-path", "x", "--hook", "nope"), "unknown hook: nope"),
        ("broker", ("--hook", "partition-pause"), "unknown hook: partition-pause; available: upsert"),
    ],
)
def test_hooks_that_are_refused(role: str, words: tuple[str, ...], refusal: str) -> None:
    code, text = run(*words, role=role)
    assert code == 2
    assert re.search(refusal, text), text
