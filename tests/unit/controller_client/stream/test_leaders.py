"""What is asked again while a partition has no leader, and what is not."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from controller_client.errors import SourceError
from controller_client.stream.leaders import ask_leader
from tests.unit.fake_clock import FakeClock


class Asked:
    """Kafka's answers, one per call; the last one stays."""

    def __init__(self, *answers: int | str) -> None:
        self._answers = answers
        self.calls = 0

    def __call__(self) -> str:
        answer = self._answers[min(self.calls, len(self._answers) - 1)]
        self.calls += 1
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return answer


def ask(asked: Asked) -> str:
    return ask_leader(asked, lambda reason: SourceError(f"no: {reason}"), what="asking", clock=FakeClock())


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE])
def test_an_election_is_waited_for(code: int) -> None:
    asked = Asked(code, code, code, "here")
    assert ask(asked) == "here"
    assert asked.calls == 4


def test_a_partition_without_a_leader_is_given_up_in_the_end() -> None:
    asked = Asked(KafkaError.NOT_LEADER_FOR_PARTITION)
    with pytest.raises(SourceError, match="no: Broker: Not leader") as caught:
        ask(asked)
    assert asked.calls > 5
    assert isinstance(caught.value.__cause__, KafkaException)


def test_a_refusal_is_not_asked_again() -> None:
    asked = Asked(KafkaError.TOPIC_AUTHORIZATION_FAILED, "here")
    with pytest.raises(SourceError, match=r"no: .*authorization"):
        ask(asked)
    assert asked.calls == 1
