"""A client whose controller follows a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from controller_client.client import ControllerClient
from controller_client.common.retry import RetryPolicy
from controller_client.config import BasicAuth, ControllerConfig
from tests.unit.controller_client.scripted_server import ScriptedServer, Step, answer
from tests.unit.fake_clock import FakeClock

Make = Callable[..., tuple[ControllerClient, ScriptedServer]]
V11 = answer(200, {"pinot-controller": "0.11.0-1b4d"})
V15 = answer(200, {"pinot-controller": "1.5.1-abc"})
CLUSTER = answer(200, {"clusterName": "c"})
RECORD = answer(200, {"simpleFields": {}})
"""The record of a table's config without templates."""


@pytest.fixture
def make() -> Iterator[Make]:
    """Return a function that makes a client, which repeats nothing, and its controller."""
    with ExitStack() as stack:

        def build(*script: Step, auth: BasicAuth | None = None) -> tuple[ControllerClient, ScriptedServer]:
            server = stack.enter_context(ScriptedServer(*script))
            config = ControllerConfig(server.url, auth=auth, retry=RetryPolicy(attempts=1))
            return stack.enter_context(ControllerClient(config, clock=FakeClock())), server

        yield build
