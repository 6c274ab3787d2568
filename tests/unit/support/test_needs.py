"""Tests are skipped for what the Pinot of the run lacks, and for nothing else."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.rest.capabilities import Capability
from tests.support import needs as needs_module
from tests.support.jars import jars_of
from tests.support.needs import Need, has, lacks

pytest_plugins = ["pytester"]

_TESTS = """
import pytest
from controller_client.rest.capabilities import Capability
from tests.support.needs import Need, NeedsPlugin, lacks, needs

@pytest.fixture
def cluster():
    raise AssertionError("no fixture starts for a test that is skipped")

@needs(Need.LOGICAL_TABLES)
def test_class(): ...

@needs(Need.LOGICAL_TABLES, Need.DATA_CRC)
def test_member(cluster): ...

@needs(Capability.PAUSE_BATCHES)
def test_rest(cluster): ...

@needs(Capability.PAUSE_COMMENT)
def test_older_rest(): ...

def test_found_out():
    lacks("a pair of wings")
"""


@pytest.fixture
def pinot_1_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution whose one jar has logical tables, and segments without a check sum of their data."""
    (tmp_path / "lib").mkdir()
    with zipfile.ZipFile(tmp_path / "lib" / "pinot-all-1.4.0-jar-with-dependencies.jar", "w") as jar:
        jar.writestr("org/apache/pinot/spi/data/LogicalTableConfig.class", b"\xca\xfe\xba\xbe")
        jar.writestr("org/apache/pinot/common/metadata/segment/SegmentZKMetadata.class", b"getCrc")
    monkeypatch.setenv("PINOT_HOME", str(tmp_path))
    for cached in (jars_of, needs_module._class_file):
        cached.cache_clear()
    yield
    for cached in (jars_of, needs_module._class_file):
        cached.cache_clear()


@pytest.mark.usefixtures("pinot_1_4")
def test_a_capability_is_a_class_a_member_or_the_controllers() -> None:
    assert has(Need.LOGICAL_TABLES)
    assert not has(Need.DATA_CRC)
    assert not has(Need.PLUG_IN_POINTS)
    assert has(Capability.FORCE_COMMIT_BATCHES)
    assert not has(Capability.PAUSE_BATCHES)


@pytest.mark.usefixtures("pinot_1_4")
def test_the_reason_has_one_form(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_TESTS)
    pytester.makeconftest(
        "from tests.support.needs import NeedsPlugin\n"
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'needs(*wanted): x')\n"
        "    config.pluginmanager.register(NeedsPlugin())\n"
    )
    result = pytester.runpytest_inprocess("-rs", "-p", "no:xdist")
    result.assert_outcomes(passed=2, skipped=3)
    for capability in (Need.DATA_CRC.capability, Capability.PAUSE_BATCHES.value, "a pair of wings"):
        result.stdout.fnmatch_lines([f"SKIPPED * this Pinot (1.4.0) lacks: {capability}"])


@pytest.mark.usefixtures("pinot_1_4")
def test_lacks_ends_the_test() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"this Pinot \(1\.4\.0\) lacks: wings"):
        lacks("wings")
