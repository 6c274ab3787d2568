"""What is read of the updates topic ends, also while Kafka only reports errors that may pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from controller_client.errors import SourceError
from key_coordinator import sent_versions
from key_coordinator.sent_versions import SentVersions


def test_errors_that_may_pass_are_not_waited_for_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = iter(range(1000))
    error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE, "no leader", retriable=True)
    monkeypatch.setattr(sent_versions, "time", SimpleNamespace(monotonic=lambda: float(next(polls))))
    reader: Any = SentVersions.__new__(SentVersions)
    reader._topic, reader._brokers = "t_REALTIME.updates", "127.0.0.1:1"
    reader._consumer = SimpleNamespace(
        assign=lambda _: None, unassign=lambda: None, poll=lambda _: SimpleNamespace(error=lambda: error)
    )
    with pytest.raises(SourceError, match="no leader"):
        list(reader._from(0, 0))
    assert next(polls) == sent_versions._TIMEOUT_S + 1
