"""Draws from a seed, so reproducibly, which roles are killed at which moment of a run."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.faults.file_ingestion.runs import Halt
from tests.faults.file_ingestion.table import CALLS, WRITES
from tests.faults.file_ingestion.watched import MODES

STORES = ("s3", "folder")
RUN = "run"
ROLES = (RUN, "controller", "minion", "server_1", "server_2", "broker", "zookeeper")

_SUBTASKS = Halt("after", "task name")
_MAX_POLLS = 150


@dataclass(frozen=True)
class Kill:
    """One disturbed run.

    Attributes:
        number: Number of the kill.
        store: Where the controller stores segments: ``s3``, or ``folder`` for its own disk.
        mode: Mode of the task.
        retries: ``consistentPushMaxRetries``.
        halt: The step of the run at which it happens.
        later_polls: Number of reader polls after that step, with the run in progress; 0: while it is paused.
        roles: The roles that are killed, all at the same moment.
        back_polls: Number of reader polls after which the roles are restarted.
    """

    number: int
    store: str
    mode: str
    retries: int
    halt: Halt
    later_polls: int
    roles: tuple[str, ...]
    back_polls: int

    def __str__(self) -> str:
        later = f" + {self.later_polls} polls" if self.later_polls else ""
        where = f"{self.store}, {self.mode} with {self.retries} retries"
        return f"{self.number}: {where}: {' and '.join(self.roles)} {self.halt}{later}"


def draw_kills(seed: int, count: int) -> list[Kill]:
    """Draw kills: the first half with the deep store on S3, the others with the controller's folder."""
    chance = random.Random(seed)
    return [_draw(chance, number, STORES[2 * number // count]) for number in range(count)]


def _draw(chance: random.Random, number: int, store: str) -> Kill:
    mode = chance.choice(list(MODES))
    kind = chance.choices(["write", "call", "subtasks"], [30, 50, 20])[0]
    if kind == "write":
        writes = [write for write in WRITES if mode != "append" or not write.startswith("from page")]
        halt = Halt(chance.choice(["before", "after"]), chance.choice(writes))
    elif kind == "call":
        call = chance.choice(CALLS)
        nth = chance.choice([1, 2]) if call == "POST push" else 1
        halt = Halt(chance.choice(["before", "after"]), call, nth, since="session SWITCH")
    else:
        halt = _SUBTASKS
    later = kind == "subtasks" or chance.random() < 0.3
    roles = chance.sample(ROLES, chance.choice([1, 2]))
    return Kill(
        number=number,
        store=store,
        mode=mode,
        retries=chance.choice([0, 2]),
        halt=halt,
        later_polls=chance.randint(1, _MAX_POLLS) if later else 0,
        roles=tuple(sorted(roles, key=ROLES.index)),
        back_polls=chance.choice([0, chance.randint(1, _MAX_POLLS)]),
    )
