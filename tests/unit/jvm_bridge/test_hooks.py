from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_client.errors import PinotPluginError, SetupError, UnreachableError, UnsupportedError
from jvm_bridge.role_host import (
    SERVER,
    Dependents,
    HostedRoleView,
    HostedServerView,
    ServerHook,
    load_hooks,
)
from jvm_bridge.role_host.hook_runner import HookRunner
from jvm_bridge.role_host.hooks import UNCAUGHT, HookErrors
from tests.support.installed import install


class Records:
    """A hook that records its calls and fails in the given ones."""

    def __init__(self, name: str, calls: list[str], fails: dict[str, BaseException] | None = None) -> None:
        self._name, self._calls, self._fails = name, calls, fails or {}

    def _call(self, method: str) -> None:
        self._calls.append(f"{self._name} {method}")
        if method in self._fails:
            raise self._fails[method]

    def before_start(self, server: HostedServerView) -> None:
        self._call("before_start")

    def started(self, server: HostedServerView) -> None:
        self._call("started")

    def stopping(self, server: HostedServerView) -> None:
        self._call("stopping")


def view(errors: HookErrors) -> HostedServerView:
    configuration = {"pinot.server.storage.factory.s3.secretKey": "hush"}
    return HostedServerView("Server_a_1", "c", "localhost:2181", None, configuration, errors)


def run_all(runner: HookRunner) -> None:
    server = view(runner.errors)
    runner.before_start(server)
    runner.started(server)
    runner.stopping(server)


def test_a_hooks_exception_is_logged_and_counted_and_the_others_continue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[str] = []

    def cannot_be_made() -> ServerHook:
        raise ValueError("made wrongly")

    fails = {
        "before_start": ValueError("one"),
        "started": SystemExit("two"),
        "stopping": ImportError("three"),
    }
    factories: dict[str, Callable[[], ServerHook]] = {
        "bad": lambda: Records("bad", calls, fails),
        "none": cannot_be_made,
        "good": lambda: Records("good", calls),
    }
    runner = HookRunner(factories, HookErrors())
    run_all(runner)
    assert runner.names == ("good",)  # the role runs with this hook
    expected = [
        f"{name} {what}" for what in ("before_start", "started", "stopping") for name in ("bad", "good")
    ]
    assert calls == expected
    counts = {name: runner.errors.count(name) for name in runner.counted}
    assert counts == {"bad": 3, "none": 1, "good": 0, UNCAUGHT: 0}
    for text in ("made wrongly", "one", "two", "three"):
        assert text in caplog.text
    assert "hook bad failed before the start; the server continues" in caplog.messages
    assert "Traceback" in caplog.text


def test_an_error_that_ends_a_hooks_thread_is_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # restored at the end
    errors = HookErrors()
    errors.watch_threads()

    def fail() -> None:
        raise ValueError("deep in a thread")

    for target in (fail, sys.exit, fail):
        thread = threading.Thread(target=target, name="worker")
        thread.start()
        thread.join()
    assert errors.count(UNCAUGHT) == 2
    assert caplog.messages == ["thread worker of a hook ended with an exception"] * 2
    assert "deep in a thread" in caplog.text


def test_the_view_hides_the_servers_configuration() -> None:
    assert "hush" not in repr(view(HookErrors()))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution on the path that registers three hooks, two of which cannot be loaded."""
    (tmp_path / "hooks_of_a_test.py").write_text("def make():\n    return 'a hook'\n")
    (tmp_path / "hooks_that_raise.py").write_text("raise SystemExit('not here')\n")
    points = {
        "test-good": "hooks_of_a_test:make",
        "test-raises": "hooks_that_raise:make",
        "test-lacks": "hooks_of_a_test:no_such_name",
    }
    install(tmp_path, "hooks-of-a-test", {SERVER.hook_group: points})
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_a_hook_that_cannot_be_imported_counts_as_failed(caplog: pytest.LogCaptureFixture) -> None:
    factories = load_hooks(SERVER.hook_group, ["test-good", "test-raises", "test-lacks", "no-such-hook"])
    assert set(factories) == {"test-good", "test-raises", "test-lacks"}
    runner = HookRunner(factories, HookErrors())
    assert runner.names == ("test-good",)
    assert [runner.errors.count(name) for name in ("test-good", "test-raises", "test-lacks")] == [0, 1, 1]
    assert "not here" in caplog.text
    assert "no_such_name" in caplog.text


@pytest.mark.usefixtures("installed")
def test_all_hooks_without_a_choice() -> None:
    assert {"partition-pause", "test-good"} <= set(load_hooks(SERVER.hook_group))


def test_a_role_that_needs_its_hooks_does_not_start_without_them() -> None:
    def cannot_be_made() -> ServerHook:
        raise ImportError("no such module")

    with pytest.raises(SetupError, match="bad failed while it was created: no such module"):
        HookRunner({"bad": cannot_be_made}, HookErrors("broker"), needed=True)
    calls: list[str] = []
    fails: dict[str, BaseException] = {"before_start": SystemExit("other version"), "started": ValueError()}
    runner = HookRunner({"bad": lambda: Records("bad", calls, fails)}, HookErrors("broker"), needed=True)
    with pytest.raises(SetupError, match="bad failed before the start: other version"):
        runner.before_start(view(runner.errors))
    runner.started(view(runner.errors))  # once the role runs, it continues
    assert runner.errors.count("bad") == 1


class Needed(Records):
    """A hook that reports its dependents."""

    def __init__(
        self,
        calls: list[str],
        fails: dict[str, BaseException],
        found: tuple[str, ...] | PinotPluginError = (),
    ) -> None:
        super().__init__("needed", calls, fails)
        self._found = found

    def starter(self) -> str | None:
        self._call("starter")
        return None

    def dependents(self, role: HostedRoleView) -> Dependents:
        self._call("dependents")
        if isinstance(self._found, PinotPluginError):
            raise self._found
        return Dependents(self._found, way_out="drop the table", later="Tables are refused.")


UNSUPPORTED = UnsupportedError(
    "this Pinot is built otherwise", expected="Pinot 1.5", where="a/class", remedy="not this one"
)


@pytest.mark.parametrize("method", ["before_start", "starter"])
@pytest.mark.parametrize("needed", [True, False])
def test_a_role_does_not_start_without_a_hook_that_something_depends_on(method: str, needed: bool) -> None:
    calls: list[str] = []
    hook = Needed(calls, {method: UNSUPPORTED}, tuple(f"the table t{number}" for number in range(7)))
    runner = HookRunner({"needed": lambda: hook}, HookErrors(), needed=needed)
    assert runner.starters() == {}
    with pytest.raises(SetupError) as refused:
        runner.before_start(view(runner.errors))
    assert calls[-1] == "needed dependents"
    text = str(refused.value)
    assert "the hook needed failed" in text
    assert "this Pinot is built otherwise; but it is needed by the table t0, the table t1" in text
    assert "the table t4 and 2 more" in text
    assert "Expected: Pinot 1.5" in text
    assert "Where: Server_a_1, a/class" in text
    assert "What to do: fix the reported problem, or drop the table" in text
    assert refused.value.__cause__ is UNSUPPORTED
    assert refused.value.exit_code == 1


@pytest.mark.parametrize("method", ["before_start", "starter"])
@pytest.mark.parametrize("needed", [True, False])
def test_a_role_starts_without_an_unneeded_hook_and_logs_it(
    method: str, needed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    factories: dict[str, Callable[[], ServerHook]] = {
        "needed": lambda: Needed(calls, {method: UNSUPPORTED}),
        "good": lambda: Records("good", calls),
    }
    runner = HookRunner(factories, HookErrors(), needed=needed)
    runner.starters()
    run_all(runner)
    assert runner.names == ("good",)
    assert runner.left_out == {"needed": "this Pinot is built otherwise"}
    assert runner.errors.count("needed") == 1
    assert "needed started" not in calls
    assert "needed stopping" not in calls
    assert {"good before_start", "good started", "good stopping"} <= set(calls)
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert (
        "the role starts without it, because nothing depends on it now. Tables are refused."
        in warning.message
    )


def test_a_role_does_not_start_if_the_dependents_of_a_hook_are_unknown() -> None:
    away = UnreachableError("ZooKeeper does not answer")
    runner = HookRunner({"needed": lambda: Needed([], {"before_start": UNSUPPORTED}, away)}, HookErrors())
    with pytest.raises(SetupError, match="cannot find out what needs it: ZooKeeper does not answer"):
        runner.before_start(view(runner.errors))


def test_the_dependents_of_a_working_hook_are_not_read() -> None:
    calls: list[str] = []
    run_all(HookRunner({"needed": lambda: Needed(calls, {}, ("a table",))}, HookErrors()))
    assert calls == ["needed before_start", "needed started", "needed stopping"]
