"""Records that somebody else changed: they are read, or refused with an error of this project."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from controller_client.errors import PinotPluginError
from tests.unit.formats.sample import Sample
from tests.unit.formats.test_formats import FIXTURES, SAMPLES

_TIMES = 300
_VALUES: list[Any] = [
    *(None, True, 7, -1, 1e400, 10**30, "", "x", "-5", "\u0663", "9" * 25, "[", "null", "7", "\ud800"),
    *([], {}, [1], {"a": 1}, "[]", "{}", "[1]", '{"a": 1}'),
]


def changed(value: Any, random: Random) -> Any:
    """Return a JSON value with one part removed or replaced, also within texts that are JSON."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with suppress(ValueError):
            return json.dumps(changed(json.loads(value), random))
    if not isinstance(value, list | dict) or not value or random.random() < 0.1:
        return deepcopy(random.choice(_VALUES))
    at = random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
    if random.random() < 0.3:
        del value[at]
    else:
        value[at] = changed(value[at], random)
    return value


# A pickle goes from a process to itself; what is not JSON has tests of its own.
@pytest.mark.parametrize(
    "sample", [each for each in SAMPLES if each.file.endswith(".json")], ids=lambda sample: sample.file
)
def test_a_damaged_record_is_read_or_refused(sample: Sample, tmp_path: Path, random_seed: int) -> None:
    random, fixture = Random(random_seed), (FIXTURES / sample.file).read_bytes()
    for number in range(_TIMES):
        document = json.loads(fixture)
        for _ in range(random.randint(1, 3)):
            document = changed(document, random)
        folder = tmp_path / str(number)
        folder.mkdir()
        with suppress(PinotPluginError):
            sample.read(json.dumps(document).encode(), folder)
