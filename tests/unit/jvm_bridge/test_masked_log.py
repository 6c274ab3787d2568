"""A log whose secrets cannot be masked: it is not written."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.errors import SetupError
from jvm_bridge.java import CompileError
from jvm_bridge.role_host import masked_log


class Logger:
    """One of log4j's, with the appenders of a configuration."""

    def __init__(self, *appenders: str) -> None:
        self.appenders = list(appenders)

    def getAppenders(self) -> Any:  # noqa: N802  # Java's name
        return SimpleNamespace(keySet=lambda: tuple(self.appenders))

    def removeAppender(self, name: str) -> None:  # noqa: N802  # Java's name
        self.appenders.remove(name)


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    "error", [TypeError("Class org.apache.logging.log4j is not found"), CompileError("password=hush")]
)
def test_a_role_does_not_start_with_a_log_that_shows_secrets(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masked_log, "_make_policy", failing(error))
    with pytest.raises(SetupError, match="secrets in the log cannot be masked") as caught:
        masked_log.mask_log()
    assert caught.value.remedy
    assert "hush" not in str(caught.value)


def test_a_reloaded_log_that_would_show_secrets_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(masked_log, "_mask_appenders", failing(AttributeError("getRef")))
    root, own = Logger("file", "masked-console"), Logger("other")
    configuration = SimpleNamespace(getRootLogger=lambda: root, getLoggers=lambda: {"own": own, "": root})
    masked_log._mask_or_end(configuration, None)
    assert (root.appenders, own.appenders) == (["masked-console"], [])
    assert "the log has ended" in capsys.readouterr().err
