"""An upsert table with everything that it needs: hosted servers, key coordinator, feed and reader."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.low_water_mark import read_mark
from tests.integration.upsert.coordinated_table import CoordinatedTable
from tests.integration.upsert.oracle.feed import Feed
from tests.integration.upsert.oracle.history import Ends, Input, read_ends
from tests.integration.upsert.oracle.keys import KEY
from tests.integration.upsert.oracle.model import Met, Model, Total
from tests.integration.upsert.oracle.reader import Answer, Reader
from tests.integration.upsert.realtime_table import Clients
from tests.support.kafka_topics import Topic
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import TRANSACTIONAL, planned_upsert, realtime_schema, realtime_table
from tests.support.wait import add_describer, remove_describer, wait_for

PARTITIONS = 4
_TIMEOUT_S = 900.0


class Place(CoordinatedTable):
    """One table, created and dropped by a test.

    Args:
        clients: The clients; the hosted servers run.
        folder: For the coordinator's checkpoint and log.
        rows_per_segment: The number of rows at which a segment is sealed.
        engine: The engine of its coordinator.
        seed: Seed of the records.
    """

    def __init__(self, clients: Clients, folder: Path, rows_per_segment: int, engine: str, seed: int) -> None:
        super().__init__(clients, "oracle", PARTITIONS, folder, engine)
        self.seed = seed
        bootstrap = self.kafka.bootstrap
        Topic(bootstrap, self.updates_topic, PARTITIONS)
        self.input = Input(bootstrap, self.name, PARTITIONS)
        self._newest = Model(self.input)
        self.feed = Feed(bootstrap, self.name, PARTITIONS, seed)
        self.reader = Reader(self.pinot, f"select count(*), sum(value), sum(account) from {self.name}")
        self._rows_per_segment = rows_per_segment
        self.create(list(KEY))
        add_describer(self._describe)

    def create(self, key: Sequence[str]) -> None:
        """Create the table, or create it again after it was deleted."""
        config = realtime_table(
            self.name,
            self.kafka,
            rows_per_segment=self._rows_per_segment,
            replicas=2,
            tenant=HOSTED_TENANT,
            peers=True,
            keeps_all=True,
            stream=TRANSACTIONAL,
        )
        schema = realtime_schema(self.name, KEY, {"value": "LONG"})
        create_upsert_table(self.client, planned_upsert(schema, config, key))

    def start_standby(self, name: str) -> None:
        """Start a standby and wait until it has its own state; the coordinator will be killed."""
        self.start("--standby", folder=name)
        wait_for(lambda: self.has_state(name), f"the state of {name}", _TIMEOUT_S)

    def kill_coordinator(self) -> None:
        """Kill the running coordinator that was started first, with SIGKILL."""
        self.end(self.runs.pop(0), signal.SIGKILL)

    def validate(self) -> None:
        """Have Pinot create missing consuming segments, as it does on its own every few minutes.

        If Kafka is unavailable while a segment is committed, the controller cannot create the next one.
        """
        self.run_periodic_task("RealtimeSegmentValidationManager")

    def check_running(self) -> None:
        """Fail if a coordinator has ended by itself, and show its log."""
        assert self.runs, "no coordinator was started"
        assert all(process.poll() is None for process in self.runs), self.log()

    def wait_answered(self, *, validating: bool = False) -> None:
        """Wait until an answer includes everything that was written."""
        self._newest.advance(self.input.read_on())
        expected = self._newest.total()

        def seen() -> bool:
            self.check_running()
            if validating:
                self.validate()
            newest = self.reader.newest()
            return newest is not None and _total(newest) == expected

        what = f"{expected} of {self.name}, seed {self.seed}"
        wait_for(seen, what, _TIMEOUT_S, interval_s=5.0 if validating else 0.1)

    def versions(self) -> Mapping[int, Ends]:
        """The offsets that each version includes."""
        return read_ends(self.kafka.bootstrap, self.updates_topic, PARTITIONS)

    def check(self) -> tuple[int, Met]:
        """Compare all answers with the model; return the number of versions answered, and the cases met."""
        model, totals = Model(self.input), dict[int, Total]()
        self.input.read_on()
        for version, ends in self.versions().items():
            model.advance(ends)
            totals[version] = model.total()
        answers = self.reader.answers
        wrong = [
            number
            for number, answer in enumerate(answers)
            if totals.get(answer.versions[self.full_name]) != _total(answer)
        ]
        # With the answers around the first ones, as their statistics differ from those of a wrong one.
        shown = sorted({near for number in wrong[:5] for near in range(max(0, number - 1), number + 2)})
        lines = [
            f"{'wrong' if number in wrong else 'right'}: {answer}, expected"
            f" {totals.get(answer.versions[self.full_name])}"
            for number, answer in enumerate(answers)
            if number in shown
        ]
        assert not wrong, "\n".join(
            [f"{len(wrong)} of {len(answers)} answers are wrong, seed {self.seed}; the first:", *lines]
        )
        return len({answer.versions[self.full_name] for answer in answers}), model.met

    def delete(self) -> None:
        """Stop all processes and drop the table and its topics."""
        remove_describer(self._describe)
        self.reader.stop()
        super().delete()

    def _describe(self) -> str:
        """The last answers and the coordinator's last state, for a wait that fails."""
        return "\n".join(
            [
                f"--- {self.name}: {read_mark(self.store, self.full_name)}",
                f"--- last answer: {self.reader.newest()}; last refusal: {self.reader.refused[-1:]}",
                f"--- its coordinator: {self.log()}",
            ]
        )


def _total(answer: Answer) -> Total:
    return Total(*(answer.numbers or (0, 0, 0)))
