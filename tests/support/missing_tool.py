"""Tests that cannot run because a tool is missing on this machine."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["without"]


def without(reason: str) -> NoReturn:
    """Skip the test; with ``PINOT_TEST_TOOLS=required``, as in CI, it fails, so nothing is skipped unnoticed.

    Args:
        reason: What is missing.
    """
    if os.environ.get("PINOT_TEST_TOOLS") == "required":
        pytest.fail(f"{reason} (PINOT_TEST_TOOLS=required)")
    pytest.skip(reason)
