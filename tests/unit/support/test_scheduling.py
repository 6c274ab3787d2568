"""Which tests stay together, and which begin."""

from __future__ import annotations

import random

from tests.support.scheduling import rank_of, unit_of_work

_TESTS = [
    "tests/integration/upsert/oracle/test_oracle.py::test_all",
    "tests/integration/file_ingestion/test_modes.py::test_sync",
    "tests/contract/test_types.py::test_all[a/b::c]",
    "tests/faults/test_local_cluster.py::test_a_life",
    "tests/integration/zookeeper/test_lock.py::test_once",
    "tests/packaging/test_wheel.py::test_minion",
    "tests/unit/minion_tasks/test_planner.py::test_one",
    "tests/unit/minion_tasks/test_report.py::TestTable::runTest",
]


def test_tests_of_a_folder_stay_together_and_unit_tests_go_by_file() -> None:
    assert [unit_of_work(test) for test in _TESTS] == [
        "tests/integration/upsert",
        "tests/integration/file_ingestion",
        "tests/contract",
        "tests/faults",
        "tests/integration/zookeeper",
        "tests/packaging/test_wheel.py",
        "tests/unit/minion_tasks/test_planner.py",
        "tests/unit/minion_tasks/test_report.py",
    ]


def test_long_folders_begin_and_unit_tests_end() -> None:
    assert [rank_of(test) for test in _TESTS] == sorted(rank_of(test) for test in _TESTS)
    mixed = random.Random(1).sample(_TESTS, len(_TESTS))
    assert min(mixed, key=rank_of) == _TESTS[0]
    assert {test.split("/")[1] for test in sorted(mixed, key=rank_of)[-2:]} == {"unit"}
