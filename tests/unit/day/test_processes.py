"""A later release alongside this one, and scrapes of a process that exists and of one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from tests.faults.day.installation import later_release, this_release
from tests.faults.day.scraper import Scraper
from tests.support.wait import wait_for

ASK = (
    "import jvm_bridge, minion_tasks, server_hooks\n"
    "from controller_client.monitoring import Monitoring\n"
    "from importlib.metadata import entry_points\n"
    "(found,) = entry_points(group='pinotctl.commands', name='scheduler')\n"
    "print(Monitoring('scheduler').text(), found.load(), server_hooks.__file__)"
)


def test_processes_import_the_release_that_they_are_started_from(tmp_path: Path) -> None:
    for release in (this_release(), later_release(tmp_path)):
        said = subprocess.run(
            [sys.executable, "-c", ASK],
            cwd="/",
            env={**os.environ, **release.environment},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert f'pinot_plugins_process_info{{process="scheduler",version="{release.version}"}} 1.0' in said
        assert str(release.folder / "server_hooks") in said
    assert this_release().version != later_release(tmp_path / "again").version


def test_a_running_and_a_missing_process_are_scraped() -> None:
    names = frozenset({catalogue.PROCESS_INFO.name})
    with MonitoringServer("127.0.0.1", 0, Monitoring(catalogue.WATCH)) as server:
        urls = {"a": f"http://127.0.0.1:{server.port}/metrics", "b": "http://127.0.0.1:9/metrics"}
        with Scraper(urls, names) as scraper:
            wait_for(lambda: scraper.last("a") and scraper.last("b"), "a scrape of each")
    there, away = scraper.last("a"), scraper.last("b")
    assert there is not None
    assert there.samples is not None
    assert [each.partition("{")[0] for each in there.samples] == [catalogue.PROCESS_INFO.name]
    assert away is not None
    assert away.samples is None
