"""Which requests are retried while a partition has no leader, and which are not."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from controller_client.errors import SourceError
from controller_client.stream.leaders import ask_leader
from tests.unit.fake_clock import FakeClock


class Responses:
    """Kafka's responses, one per call; the last one repeats."""

    def __init__(self, *answers: int | str) -> None:
        self._answers = answers
        self.calls = 0

    def __call__(self) -> str:
        answer = self._answers[min(self.calls, len(self._answers) - 1)]
        self.calls += 1
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return answer


def ask(responses: Responses) -> str:
    return ask_leader(
        responses, lambda reason: SourceError(f"no: {reason}"), what="the test's request", clock=FakeClock()
    )


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE])
def test_an_election_is_awaited(code: int) -> None:
    responses = Responses(code, code, code, "here")
    assert ask(responses) == "here"
    assert responses.calls == 4


def test_a_partition_that_never_gets_a_leader_is_an_error() -> None:
    responses = Responses(KafkaError.NOT_LEADER_FOR_PARTITION)
    with pytest.raises(SourceError, match="no: Broker: Not leader") as caught:
        ask(responses)
    assert responses.calls > 5
    assert isinstance(caught.value.__cause__, KafkaException)


def test_a_refusal_is_not_retried() -> None:
    responses = Responses(KafkaError.TOPIC_AUTHORIZATION_FAILED, "here")
    with pytest.raises(SourceError, match=r"no: .*authorization"):
        ask(responses)
    assert responses.calls == 1
