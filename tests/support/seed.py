"""The seed of a run's random tests: none, the requested one, or with ``--full`` a new one."""

from __future__ import annotations

import random
from typing import Any

import pytest

__all__ = ["SeedPlugin", "choose_seed"]

_SEED = "pinot_plugins_seed"


def choose_seed(config: pytest.Config) -> int | None:
    """Return the run's seed; in a process of pytest-xdist, that of the process that started it.

    All processes must use the same: pytest-xdist ends a run whose processes have collected different tests.
    """
    inherited: dict[str, Any] | None = getattr(config, "workerinput", None)
    if inherited is not None:
        seed: int | None = inherited[_SEED]
    else:
        seed = config.option.seed
        if seed is None and config.option.full:
            seed = random.SystemRandom().getrandbits(32)
    return seed


class SeedPlugin:
    """Passes the seed to the processes of pytest-xdist, which otherwise get only the command line."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A process of pytest-xdist is about to start."""
        node.workerinput[_SEED] = node.config.option.seed
