from __future__ import annotations

import pytest

from controller_client.errors import UnsupportedError
from jvm_bridge.java import CompileError
from jvm_bridge.patched_classes import patching


def test_a_compile_error_means_an_unsupported_version() -> None:
    with (
        pytest.raises(UnsupportedError) as refused,
        patching("partitions cannot be paused in this version of Pinot", remedy="run without the hook"),
    ):
        raise CompileError("ConsumerGate.java:4: package x does not exist")
    assert str(refused.value).splitlines() == [
        "partitions cannot be paused in this version of Pinot: ConsumerGate.java:4: package x does not exist",
        "  Expected: Pinot 0.11",
        "  What to do: run without the hook",
    ]
